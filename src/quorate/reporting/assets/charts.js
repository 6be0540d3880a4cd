// What all figures share. Each figure is a function of the state that returns an ECharts option; charts are made when they come into view.
const state = { stop: data.own, maps: null, matrix: null, onPaper: false };
const stop = () => data.stops[state.stop];
const isOwn = () => state.stop === data.own;

// On paper a chart takes less than half a page, so that a page never ends half empty because the next chart does not fit.
const PAPER_HEIGHT = 360;
/** Returns the height of each of n rows of a chart. */
const rowHeight = (wanted, n) => (state.onPaper ? Math.min(wanted, PAPER_HEIGHT / n) : wanted);
const smallText = (height) => Math.max(7, Math.min(12, Math.floor(height - 2)));

function isDark() {
  const asked = document.documentElement.dataset.theme;
  if (asked) return asked === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Returns the colour of a cluster; dark colours are made lighter on a dark page, where they would be hard to see. */
function clusterColour(cluster) {
  const plain = data.colours[cluster];
  const parts = [1, 3, 5].map((place) => parseInt(plain.slice(place, place + 2), 16));
  const luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  if (!isDark() || luminance > 80) return plain;
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * 0.38)).join(",")})`;
}

const shades = () =>
  isDark()
    ? ["#1d2128", "#1f4a73", "#3f8fca", "#a6d3f2", "#f4faff"]
    : ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
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

/** Returns the bar that explains the shades, placed at `left` pixels. */
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
