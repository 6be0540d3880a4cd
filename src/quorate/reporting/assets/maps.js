// The maps: which objects are put together, how each member labels them, and which members agree.
function binLines(bin) {
  const { maps } = state;
  const cluster = maps.stops[state.stop].bins[bin] - 1;
  return `${cluster < 0 ? "no label" : clusterName(cluster)}: ${plural(maps.sizes[bin], "object")}, confidence ${fixed(maps.confidence[bin])}, such as ${maps.sample[bin]}`;
}

/** Returns the longest run of neighbouring bins of each cluster at the stop of the slider, in the order of the map. */
function runs() {
  const { bins } = state.maps.stops[state.stop];
  const longest = new Map();
  let start = 0;
  bins.forEach((label, bin) => {
    if (bins[bin + 1] === label) return;
    const length = bin + 1 - start;
    if (label && length > (longest.get(label)?.length ?? 0)) longest.set(label, { cluster: label - 1, start, length });
    start = bin + 1;
  });
  return [...longest.values()].sort((one, other) => one.start - other.start);
}

/** Returns an axis of n bins, invisible except for names of clusters: a text for each bin in `names`. */
const nameBesideBins = (n, names) => ({
  ...bareAxis(n),
  show: true,
  axisLine: { show: false },
  axisTick: { show: false },
  splitLine: { show: false },
  axisLabel: {
    color: colour("ink"),
    fontSize: 11,
    margin: 4,
    interval: (bin) => names.has(bin),
    formatter: (_, bin) => names.get(bin),
  },
});

const middle = ({ start, length }) => start + Math.floor((length - 1) / 2);

/** Returns the names that fit beside a column of bins, each `step` pixels high, by their bin. */
function namesBeside(step, length) {
  const names = new Map();
  let last = -Infinity;
  for (const run of runs()) {
    if ((middle(run) - last) * step < 11) continue;
    last = middle(run);
    names.set(last, shortened(data.names[run.cluster], length));
  }
  return names;
}

/** Returns the names that fit below a row of bins, each `step` pixels wide, by their bin. */
function namesBelow(step) {
  const names = new Map();
  let end = -Infinity;
  for (const run of runs()) {
    const half = 3.5 * data.names[run.cluster].length;
    const centre = (run.start + run.length / 2) * step;
    // A short name may be wider than its cluster, as long as it does not touch the name before it.
    if (2 * half + 4 > Math.max(24, run.length * step) || centre - half < end + 3) continue;
    end = centre + half;
    names.set(middle(run), data.names[run.cluster]);
  }
  return names;
}

function heatmap(width) {
  const { maps } = state;
  const { n } = maps;
  const { bins } = maps.stops[state.stop];
  const letters = width < 360 ? 5 : 12;
  const left = 8 + 7 * Math.max(...runs().map(({ cluster }) => Math.min(letters, data.names[cluster].length)));
  const side = Math.min(width - left - 66, 640);
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
        return tip(
          `co-association ${fixed(maps.heat[y * n + x])}`,
          x === y ? [binLines(x)] : [binLines(y), binLines(x)],
        );
      },
    },
    grid: [
      { left: left + 16, top: 18, width: side, height: side },
      { left, top: 18, width: 12, height: side },
      { left: left + 16, top: 2, width: side, height: 12 },
    ],
    xAxis: [bareAxis(n), { ...bareAxis(1), gridIndex: 1 }, { ...bareAxis(n), gridIndex: 2 }],
    yAxis: [
      { ...bareAxis(n), inverse: true },
      { ...nameBesideBins(n, namesBeside(side / n, letters)), inverse: true, gridIndex: 1 },
      { ...bareAxis(1), gridIndex: 2 },
    ],
    visualMap: [shadeBar(0, 0, left + side + 22), clusterBar([1, 2])],
    series: [
      { ...cells, data: data0 },
      { ...cells, xAxisIndex: 1, yAxisIndex: 1, data: bins.map((cluster, bin) => [0, bin, cluster]) },
      { ...cells, xAxisIndex: 2, yAxisIndex: 2, data: bins.map((cluster, bin) => [bin, 0, cluster]) },
    ],
  };
}

/** Returns the colour of a member's label at the stop of the slider: 0 for a missing label, else 1 + cluster. */
const seenAs = (label) => (label === 0 ? 0 : state.maps.stops[state.stop].closest[label - 1] + 1);

function map(width) {
  const { maps } = state;
  const { n } = maps;
  const names = data.members.names;
  const row = rowHeight(names.length <= 20 ? 22 : Math.max(2, Math.min(14, 640 / names.length)), names.length);
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
    height: height + 64,
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
    xAxis: [bareAxis(n), { ...nameBesideBins(n, namesBelow((width - left - 4) / n)), gridIndex: 1 }],
    yAxis: [
      nameAxis(names, {
        inverse: true,
        show: named,
        axisLabel: {
          color: colour("ink"),
          interval: 0,
          width: left - 12,
          overflow: "truncate",
          fontSize: row < 20 ? smallText(row) : 12,
        },
      }),
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

const NUMBERED = 10;

function memberMatrix(width) {
  const names = [...data.members.order.map((member) => data.members.names[member]), "consensus"];
  const n = names.length;
  const { matrix } = state;
  const low = Math.floor(10 * Math.min(0.9, ...matrix.filter((value) => value !== null))) / 10;
  const named = n <= 26;
  const left = named ? Math.min(110, width / 4, 16 + 7 * Math.max(...names.map((name) => name.length))) : 4;
  const side = Math.min(width - left - 60, 520);
  const axis = {
    show: named,
    axisLabel: { color: colour("ink"), interval: 0, width: left - 8, overflow: "truncate", fontSize: n > 14 ? 10 : 12 },
  };
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
      formatter: ({ value: [x, y] }) =>
        tip(`NMI ${fixed(matrix[y * n + x], 2)}`, x === y ? [names[x]] : [names[y], names[x]]),
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
