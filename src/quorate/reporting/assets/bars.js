// Curves and bars: criteria over the number of clusters, clusters, members, and confidence.
const CRITERIA = {
  support: "support of all together",
  eigengap: "eigengap",
  merge_gap: "merge gap",
  link_gap: "link gap",
  modularity: "modularity",
  density_gain: "density gain",
  lifetime: "lifetime",
  anmi: "ANMI",
  stability: "stability",
  pac: "PAC, upside down",
};

function scaled(values, upsideDown) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return values.map((value) => {
    if (value === null) return null;
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return upsideDown ? 1 - share : share;
  });
}

function curveSeries() {
  const line = (name, points, place, raw) => ({
    type: "line",
    name,
    data: points,
    connectNulls: true,
    raw,
    symbol: "circle",
    symbolSize: 7,
    lineStyle: { width: 2, type: ["solid", "dashed", "dotted", [8, 3, 2, 3]][place % 4] },
    color: curveColour(place),
  });
  if (!data.choice) {
    const over = (key) => data.stops.map((entry) => [entry.k, entry[key]]);
    return [line("ANMI", over("anmi"), 0, null), line("density", over("density"), 1, null)];
  }
  return Object.entries(data.choice.curves).map(([name, values], place) => {
    const heights = scaled(values, name === "pac");
    return line(
      CRITERIA[name],
      data.choice.k.map((k, i) => [k, heights[i]]),
      place,
      values,
    );
  });
}

const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#7A7A7A", "#5B4B8A"];
const curveColour = (place) => (place === 0 ? colour("accent") : PALETTE[place % PALETTE.length]);

function curves(width) {
  const series = curveSeries();
  const numbers = [...new Set(series.flatMap(({ data: points }) => points.map(([k]) => k)))];
  series[0].markLine = {
    symbol: "none",
    silent: true,
    data: [{ xAxis: stop().k }],
    lineStyle: { color: colour("soft"), type: "solid", width: 1.5 },
    label: { formatter: plural(stop().k, "cluster"), color: colour("ink") },
  };
  return {
    height: width < 500 || state.onPaper ? 240 : 300,
    ...base(),
    tooltip: {
      ...base().tooltip,
      trigger: "axis",
      formatter: (points) =>
        tip(
          plural(points[0].value[0], "cluster"),
          points.map(({ seriesName, value, dataIndex, seriesIndex }) => {
            const { raw } = series[seriesIndex];
            const shown = raw ? raw[dataIndex] : value[1];
            return `${seriesName}: ${shown === null ? "not computed" : fixed(shown, 3)}`;
          }),
        ),
    },
    legend: { bottom: 0, textStyle: { color: colour("ink") }, itemWidth: 34 },
    grid: { left: 8, right: 24, top: 28, bottom: 58, containLabel: true },
    xAxis: valueAxis({
      min: Math.min(...numbers),
      max: Math.max(...numbers),
      minInterval: 1,
      splitLine: { show: false },
      name: "number of clusters",
      nameLocation: "middle",
      nameGap: 26,
    }),
    yAxis: data.choice
      ? valueAxis({
          min: 0,
          max: 1,
          interval: 1,
          axisLabel: { formatter: (v) => (v ? "highest" : "lowest"), color: colour("soft") },
        })
      : valueAxis({ scale: true }),
    series,
  };
}

const BARS = 40;

function clusterBars(width) {
  const { clusters, sizes, densities } = stop();
  const order = clusters
    .map((_, place) => place)
    .sort((one, other) => sizes[other] - sizes[one])
    .slice(0, BARS);
  const names = order.map((place) => data.names[clusters[place]]);
  const narrow = width < 560;
  const left = Math.min(width / 4, 12 + 8 * Math.max(...names.map((name) => Math.min(name.length, 18))));
  const bar = { type: "bar", barMaxWidth: 16, emphasis: { disabled: true } };
  const ofCluster = (place) => ({ color: clusterColour(clusters[place]) });
  const confidence = isOwn() ? order.map((place) => data.clusterConfidence[clusters[place]]) : [];
  const row = rowHeight(order.length > 12 ? 24 : 34, order.length);
  const rows = row * order.length;
  const half = narrow ? width - left - 20 : (width - left - 70) / 2;
  const top = (block) => (narrow ? 40 + block * (rows + 84) : 40);
  const fontSize = smallText(row);
  const label = (formatter) => ({ show: true, position: "right", color: colour("ink"), fontSize, formatter });
  return {
    height: narrow ? 2 * (rows + 84) : rows + 76,
    ...base(),
    tooltip: {
      ...base().tooltip,
      formatter: ({ dataIndex }) => {
        const place = order[dataIndex];
        return tip(clusterName(clusters[place]), [
          plural(sizes[place], "object"),
          isOwn() ? `confidence ${fixed(data.clusterConfidence[clusters[place]])}` : "",
          `density ${fixed(densities[place])}`,
        ]);
      },
    },
    legend: {
      top: narrow ? rows + 84 : 0,
      right: 0,
      textStyle: { color: colour("ink") },
      data: isOwn() ? ["confidence", "density"] : ["density"],
      selectedMode: false,
    },
    grid: [
      { left, top: top(0), width: narrow ? half - 40 : half - 50, height: rows },
      { left: narrow ? left : left + half + 20, top: top(1), width: half, height: rows },
    ],
    xAxis: [
      valueAxis({
        splitNumber: 3,
        minInterval: 1,
        axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => counted(value) },
        name: "objects",
        nameLocation: "middle",
        nameGap: 26,
      }),
      valueAxis({ gridIndex: 1, min: 0, max: 1, interval: 0.25 }),
    ],
    yAxis: [
      nameAxis(names, {
        inverse: true,
        axisLabel: { color: colour("ink"), interval: 0, fontSize, width: left - 10, overflow: "truncate" },
      }),
      nameAxis(names, {
        inverse: true,
        gridIndex: 1,
        axisLabel: { show: narrow, color: colour("ink"), interval: 0, fontSize, width: left - 10, overflow: "truncate" },
      }),
    ],
    series: [
      {
        ...bar,
        name: "objects",
        label: label(({ value }) => counted(value)),
        data: order.map((place) => ({ value: sizes[place], itemStyle: ofCluster(place) })),
      },
      { ...bar, name: "confidence", xAxisIndex: 1, yAxisIndex: 1, color: colour("accent"), data: confidence },
      {
        ...bar,
        name: "density",
        xAxisIndex: 1,
        yAxisIndex: 1,
        color: colour("soft"),
        data: order.map((place) => densities[place]),
      },
    ],
  };
}

function memberBars(width) {
  const { names, nmi, missing, n_clusters: sizes } = data.members;
  const order = names.map((_, member) => member).sort((one, other) => (nmi[other] ?? -1) - (nmi[one] ?? -1));
  const few = names.length <= BARS;
  const apart = new Set(data.members.apart);
  const fill = (member) => ({ color: apart.has(member) ? colour("alarm") : colour("accent") });
  const row = rowHeight(30, names.length);
  const values = valueAxis({ min: 0, max: 1, interval: 0.25 });
  const labels = nameAxis(
    order.map((member) => names[member]),
    {
      inverse: few,
      axisLabel: {
        show: few,
        color: colour("ink"),
        interval: 0,
        fontSize: smallText(row),
        width: Math.min(150, width / 3),
        overflow: "truncate",
      },
    },
  );
  return {
    height: few ? row * names.length + 44 : 340,
    ...base(),
    tooltip: {
      ...base().tooltip,
      formatter: ({ dataIndex }) => {
        const member = order[dataIndex];
        return tip(names[member], [
          `NMI with the consensus ${fixed(nmi[member], 3)}`,
          plural(sizes[member], "cluster"),
          missing[member] ? `${(100 * missing[member]).toFixed(1)}% of the objects missing` : "",
        ]);
      },
    },
    grid: { left: 4, right: 44, top: 6, bottom: 4, containLabel: true },
    xAxis: few ? values : labels,
    yAxis: few ? labels : values,
    series: {
      type: "bar",
      barMaxWidth: 16,
      label: {
        show: few,
        position: "right",
        color: colour("ink"),
        fontSize: smallText(row),
        formatter: ({ value }) => fixed(value),
      },
      data: order.map((member) => ({ value: nmi[member], itemStyle: fill(member) })),
    },
  };
}

function histogram(width) {
  const { by, counts } = data.histogram;
  const bars = counts[0].length;
  const groups = by || [null];
  const narrow = width < 500;
  return {
    height: narrow ? 300 : state.onPaper ? 230 : 280,
    ...base(),
    tooltip: {
      ...base().tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (points) => {
        const place = points[0].dataIndex;
        const lines = groups.map((cluster, group) => [counts[group][place], cluster]).filter(([count]) => count > 0);
        return tip(
          `confidence ${(place / bars).toFixed(3)} to ${((place + 1) / bars).toFixed(3)}`,
          lines.length
            ? lines.map(
                ([count, cluster]) =>
                  `${cluster === null ? "" : `${clusterName(cluster)}: `}${plural(count, "object")}`,
              )
            : ["no object"],
        );
      },
    },
    legend: { show: by !== null, bottom: 0, textStyle: { color: colour("ink") }, selectedMode: false },
    grid: { left: 8, right: 16, top: 20, bottom: by === null ? 30 : narrow ? 90 : 60, containLabel: true },
    xAxis: [
      nameAxis(
        Array.from({ length: bars }, (_, i) => i),
        { show: false },
      ),
      valueAxis({
        min: 0,
        max: 1,
        interval: 0.2,
        position: "bottom",
        splitLine: { show: false },
        name: "confidence",
        nameLocation: "middle",
        nameGap: 24,
      }),
    ],
    yAxis: valueAxis({ minInterval: 1, axisLabel: { color: colour("soft"), formatter: (value) => counted(value) } }),
    series: [
      ...groups.map((cluster, group) => ({
        type: "bar",
        name: cluster === null ? "objects" : clusterName(cluster),
        stack: "all",
        barCategoryGap: "8%",
        color: cluster === null ? colour("accent") : clusterColour(cluster),
        data: counts[group],
      })),
      {
        type: "line",
        xAxisIndex: 1,
        data: [],
        markLine: {
          symbol: "none",
          silent: true,
          data: [{ xAxis: data.ambiguous }],
          lineStyle: { color: colour("soft"), type: "dashed" },
          label: { formatter: String(data.ambiguous), color: colour("soft") },
        },
      },
    ],
  };
}
