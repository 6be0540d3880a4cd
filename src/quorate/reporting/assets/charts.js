// The figures. Each is a function of the state that returns an ECharts option; charts are made when they come into view.
const state = { stop: data.own, maps: null, matrix: null };
const stop = () => data.stops[state.stop];
const isOwn = () => state.stop === data.own;

function isDark() {
  const asked = document.documentElement.dataset.theme;
  if (asked) return asked === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Dark colours of the palette are lifted on a dark page, where they would drown. */
function clusterColour(cluster) {
  const plain = data.colours[cluster];
  const parts = [1, 3, 5].map((place) => parseInt(plain.slice(place, place + 2), 16));
  const luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  if (!isDark() || luminance > 80) return plain;
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * 0.38)).join(",")})`;
}

const shades = () =>
  isDark() ? ["#1d2128", "#1f4a73", "#3f8fca", "#a6d3f2", "#f4faff"] : ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
const clusterShades = () => [colour("gap"), ...data.names.map((_, cluster) => clusterColour(cluster))];

function tip(title, lines) {
  const box = element("div", undefined, { class: "tip" });
  box.append(element("strong", title), ...lines.filter(Boolean).map((line) => element("div", line)));
  return box;
}

function base() {
  const ink = colour("ink");
  return {
    animation: false,
    textStyle: { color: ink, fontFamily: getComputedStyle(document.body).fontFamily },
    tooltip: {
      confine: true,
      backgroundColor: colour("page"),
      borderColor: colour("line"),
      textStyle: { color: ink },
      transitionDuration: 0,
    },
  };
}

const bareAxis = (n) => ({ type: "category", data: Array.from({ length: n }, (_, i) => i), show: false });
const valueAxis = (extra = {}) => ({
  type: "value",
  axisLabel: { color: colour("soft"), hideOverlap: true },
  splitLine: { lineStyle: { color: colour("line") } },
  nameTextStyle: { color: colour("soft") },
  ...extra,
});
const nameAxis = (names, extra = {}) => ({
  type: "category",
  data: names,
  axisLine: { show: false },
  axisTick: { show: false },
  axisLabel: { color: colour("ink"), interval: 0 },
  ...extra,
});

/** What a shade means, at `left` pixels. */
function shadeBar(low, seriesIndex, left) {
  return {
    type: "continuous",
    min: low,
    max: 1,
    seriesIndex,
    dimension: 2,
    inRange: { color: shades() },
    orient: "vertical",
    left,
    top: 10,
    itemWidth: 10,
    itemHeight: 130,
    precision: 1,
    text: ["1", low.toFixed(1)],
    textStyle: { color: colour("soft") },
    hoverLink: false,
  };
}

const clusterBar = (seriesIndex) => ({
  type: "piecewise",
  show: false,
  seriesIndex,
  dimension: 2,
  categories: clusterShades().map((_, place) => place),
  inRange: { color: clusterShades() },
});

const cells = { type: "heatmap", progressive: 0, emphasis: { disabled: true }, itemStyle: { borderWidth: 0 } };

function binLines(bin) {
  const { maps } = state;
  const cluster = maps.stops[state.stop].bins[bin] - 1;
  return `${cluster < 0 ? "no label" : clusterName(cluster)}: ${plural(maps.sizes[bin], "object")}, confidence ${fixed(maps.confidence[bin])}, such as ${maps.sample[bin]}`;
}

function heatmap(width) {
  const { maps } = state;
  const { n } = maps;
  const { bins } = maps.stops[state.stop];
  const side = Math.min(width - 66, 640);
  const data0 = [];
  for (let y = 0; y < n; y += 1) for (let x = 0; x < n; x += 1) data0.push([x, y, maps.heat[y * n + x]]);
  return {
    height: side + 24,
    ...base(),
    tooltip: {
      ...base().tooltip,
      formatter: ({ value: [x, y], seriesIndex }) => {
        if (seriesIndex === 1) return tip("Objects", [binLines(y)]);
        if (seriesIndex === 2) return tip("Objects", [binLines(x)]);
        return tip(`co-association ${fixed(maps.heat[y * n + x])}`, x === y ? [binLines(x)] : [binLines(y), binLines(x)]);
      },
    },
    grid: [
      { left: 18, top: 18, width: side, height: side },
      { left: 2, top: 18, width: 12, height: side },
      { left: 18, top: 2, width: side, height: 12 },
    ],
    xAxis: [bareAxis(n), { ...bareAxis(1), gridIndex: 1 }, { ...bareAxis(n), gridIndex: 2 }],
    yAxis: [
      { ...bareAxis(n), inverse: true },
      { ...bareAxis(n), inverse: true, gridIndex: 1 },
      { ...bareAxis(1), gridIndex: 2 },
    ],
    visualMap: [shadeBar(0, 0, side + 24), clusterBar([1, 2])],
    series: [
      { ...cells, data: data0 },
      { ...cells, xAxisIndex: 1, yAxisIndex: 1, data: bins.map((cluster, bin) => [0, bin, cluster]) },
      { ...cells, xAxisIndex: 2, yAxisIndex: 2, data: bins.map((cluster, bin) => [bin, 0, cluster]) },
    ],
  };
}

/** The colour a member's label has at the stop of the slider: 0 for a gap, else 1 + cluster. */
const seenAs = (label) => (label === 0 ? 0 : state.maps.stops[state.stop].closest[label - 1] + 1);

function map(width) {
  const { maps } = state;
  const { n } = maps;
  const names = data.members.names;
  const row = names.length <= 20 ? 22 : Math.max(2, Math.min(14, 640 / names.length));
  const named = names.length <= 45;
  const left = named ? Math.min(150, width / 4) : 12;
  const height = Math.round(row * names.length);
  const { bins } = maps.stops[state.stop];
  const told = (member, bin) => {
    const label = maps.cells[member * n + bin];
    if (label === 0) return "no label";
    const own = maps.labels ? `“${maps.labels[label - 1]}”` : "a cluster";
    return `${own}, closest to ${clusterName(seenAs(label) - 1)}`;
  };
  return {
    height: height + 58,
    ...base(),
    tooltip: {
      ...base().tooltip,
      formatter: ({ value: [bin, member], seriesIndex }) =>
        seriesIndex === 1 ? tip("consensus", [binLines(bin)]) : tip(names[member], [told(member, bin), binLines(bin)]),
    },
    grid: [
      { left, right: 4, top: 4, height },
      { left, right: 4, top: height + 14, height: 22 },
    ],
    xAxis: [bareAxis(n), { ...bareAxis(n), gridIndex: 1 }],
    yAxis: [
      nameAxis(names, { inverse: true, show: named, axisLabel: { color: colour("ink"), interval: 0, width: left - 12, overflow: "truncate", fontSize: row < 12 ? 9 : 12 } }),
      nameAxis(["consensus"], { gridIndex: 1, show: named, axisLabel: { color: colour("ink"), fontWeight: "bold" } }),
    ],
    visualMap: clusterBar([0, 1]),
    series: [
      {
        ...cells,
        itemStyle: { borderWidth: 0 },
        data: maps.cells.map((label, place) => [place % n, Math.floor(place / n), seenAs(label)]),
      },
      { ...cells, xAxisIndex: 1, yAxisIndex: 1, data: bins.map((cluster, bin) => [bin, 0, cluster]) },
    ],
  };
}

const CRITERIA = { anmi: "ANMI", density_gain: "density gain", lifetime: "lifetime", pac: "PAC, upside down" };

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
    return line(CRITERIA[name], data.choice.k.map((k, i) => [k, heights[i]]), place, values);
  });
}

const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"];
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
    height: width < 500 ? 240 : 300,
    ...base(),
    tooltip: {
      ...base().tooltip,
      trigger: "axis",
      formatter: (points) =>
        tip(
          plural(points[0].value[0], "cluster"),
          points.map(({ seriesName, value, dataIndex, seriesIndex }) => {
            const { raw } = series[seriesIndex];
            return `${seriesName}: ${fixed(raw ? raw[dataIndex] : value[1], 3)}`;
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
      ? valueAxis({ min: 0, max: 1, interval: 1, axisLabel: { formatter: (v) => (v ? "highest" : "lowest"), color: colour("soft") } })
      : valueAxis({ scale: true }),
    series,
  };
}

const BARS = 40;

function clusterBars(width) {
  const { clusters, sizes, densities } = stop();
  const order = clusters.map((_, place) => place).sort((one, other) => sizes[other] - sizes[one]).slice(0, BARS);
  const names = order.map((place) => data.names[clusters[place]]);
  const narrow = width < 560;
  const left = Math.min(width / 4, 12 + 8 * Math.max(...names.map((name) => Math.min(name.length, 18))));
  const bar = { type: "bar", barMaxWidth: 16, emphasis: { disabled: true } };
  const ofCluster = (place) => ({ color: clusterColour(clusters[place]) });
  const confidence = isOwn() ? order.map((place) => data.clusterConfidence[clusters[place]]) : [];
  const rows = 34 * order.length;
  const half = narrow ? width - left - 20 : (width - left - 70) / 2;
  const top = (block) => (narrow ? 40 + block * (rows + 84) : 40);
  const label = (formatter) => ({ show: true, position: "right", color: colour("ink"), formatter });
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
      valueAxis({ splitNumber: 3, minInterval: 1, axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => counted(value) }, name: "objects", nameLocation: "middle", nameGap: 26 }),
      valueAxis({ gridIndex: 1, min: 0, max: 1, interval: 0.25 }),
    ],
    yAxis: [
      nameAxis(names, { inverse: true, axisLabel: { color: colour("ink"), interval: 0, width: left - 10, overflow: "truncate" } }),
      nameAxis(names, { inverse: true, gridIndex: 1, axisLabel: { show: narrow, color: colour("ink"), interval: 0, width: left - 10, overflow: "truncate" } }),
    ],
    series: [
      { ...bar, name: "objects", label: label(({ value }) => counted(value)), data: order.map((place) => ({ value: sizes[place], itemStyle: ofCluster(place) })) },
      { ...bar, name: "confidence", xAxisIndex: 1, yAxisIndex: 1, color: colour("accent"), data: confidence },
      { ...bar, name: "density", xAxisIndex: 1, yAxisIndex: 1, color: colour("soft"), data: order.map((place) => densities[place]) },
    ],
  };
}

function memberBars(width) {
  const { names, nmi, missing, n_clusters: sizes } = data.members;
  const order = names.map((_, member) => member).sort((one, other) => (nmi[other] ?? -1) - (nmi[one] ?? -1));
  const few = names.length <= BARS;
  const known = nmi.filter((value) => value !== null).sort((one, other) => one - other);
  const median = known.length ? (known[(known.length - 1) >> 1] + known[known.length >> 1]) / 2 : 0;
  const fill = (member) => ({ color: nmi[member] < 0.5 * median ? colour("alarm") : colour("accent") });
  const values = valueAxis({ min: 0, max: 1, interval: 0.25 });
  const labels = nameAxis(order.map((member) => names[member]), {
    inverse: few,
    axisLabel: { show: few, color: colour("ink"), interval: 0, width: Math.min(150, width / 3), overflow: "truncate" },
  });
  return {
    height: few ? 30 * names.length + 44 : 340,
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
      label: { show: few, position: "right", color: colour("ink"), formatter: ({ value }) => fixed(value) },
      data: order.map((member) => ({ value: nmi[member], itemStyle: fill(member) })),
    },
  };
}

const NUMBERED = 10;

function memberMatrix(width) {
  const names = [...data.members.order.map((member) => data.members.names[member]), "consensus"];
  const n = names.length;
  const { matrix } = state;
  const low = Math.floor(10 * Math.min(0.9, ...matrix.filter((value) => value !== null))) / 10;
  const named = n <= 26;
  const left = named ? Math.min(110, width / 4, 16 + 7 * Math.max(...names.map((name) => name.length))) : 4;
  const side = Math.min(width - left - 60, 520);
  const axis = { show: named, axisLabel: { color: colour("ink"), interval: 0, width: left - 8, overflow: "truncate", fontSize: n > 14 ? 10 : 12 } };
  const strong = (value) => value > low + 0.55 * (1 - low);
  const all = matrix.map((value, place) => ({
    value: [place % n, Math.floor(place / n), value],
    ...(n <= NUMBERED ? { label: { color: strong(value) === isDark() ? "#111417" : "#ffffff" } } : {}),
  }));
  return {
    height: side + left + 8,
    ...base(),
    tooltip: {
      ...base().tooltip,
      formatter: ({ value: [x, y] }) => tip(`NMI ${fixed(matrix[y * n + x], 2)}`, x === y ? [names[x]] : [names[y], names[x]]),
    },
    grid: { left, top: 4, width: side, height: side },
    xAxis: nameAxis(names, { ...axis, axisLabel: { ...axis.axisLabel, rotate: 90, width: left - 8 } }),
    yAxis: nameAxis(names, { ...axis, inverse: true }),
    visualMap: [shadeBar(low, 0, left + side + 12)],
    series: [
      {
        ...cells,
        label: { show: n <= NUMBERED, formatter: ({ value }) => fixed(value[2]) },
        data: all.filter(({ value }) => value[2] !== null),
      },
    ],
  };
}

function histogram(width) {
  const { by, counts } = data.histogram;
  const bars = counts[0].length;
  const groups = by || [null];
  return {
    height: width < 500 ? 240 : 280,
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
          lines.length ? lines.map(([count, cluster]) => `${cluster === null ? "" : `${clusterName(cluster)}: `}${plural(count, "object")}`) : ["no object"],
        );
      },
    },
    legend: { show: by !== null, bottom: 0, textStyle: { color: colour("ink") }, selectedMode: false },
    grid: { left: 8, right: 16, top: 20, bottom: by === null ? 30 : 60, containLabel: true },
    xAxis: [
      nameAxis(Array.from({ length: bars }, (_, i) => i), { show: false }),
      valueAxis({ min: 0, max: 1, interval: 0.2, position: "bottom", splitLine: { show: false }, name: "confidence", nameLocation: "middle", nameGap: 24 }),
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
        markLine: { symbol: "none", silent: true, data: [{ xAxis: 0.6 }], lineStyle: { color: colour("soft"), type: "dashed" }, label: { formatter: "0.6", color: colour("soft") } },
      },
    ],
  };
}
