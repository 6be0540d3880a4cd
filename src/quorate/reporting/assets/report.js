// Starts the page, and draws the charts again when the theme, the slider, the width or the medium (screen or paper) changes.
const charts = [];

function addChart(id, told, build) {
  const place = byId(id);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", told);
  charts.push({ place, build, drawn: null });
}

function draw(entry) {
  const { height, ...option } = entry.build(entry.place.clientWidth);
  entry.place.style.height = `${Math.round(height)}px`;
  if (!entry.drawn)
    entry.drawn = echarts.init(entry.place, null, {
      renderer: "canvas",
      devicePixelRatio: Math.max(2, devicePixelRatio),
    });
  entry.drawn.resize();
  // Only these parts are replaced, so that an open tooltip stays open.
  entry.drawn.setOption(option, { replaceMerge: ["series", "visualMap"] });
  entry.width = entry.place.clientWidth;
}

const redraw = () => charts.filter((entry) => entry.drawn).forEach(draw);

/** Draws everything again in which clusters have colours or names. */
function drawAgain() {
  redraw();
  if (data.maps) drawLegend();
  if (data.objects.id.length) drawTable();
  drawClusterTable();
  drawSwatches();
}

const drawSwatches = () =>
  document.querySelectorAll("[data-swatch]").forEach((swatch) => {
    swatch.style.background = clusterColour(Number(swatch.dataset.swatch));
  });

function drawWhenSeen() {
  const watcher = new IntersectionObserver(
    (seen) => {
      seen
        .filter(({ isIntersecting }) => isIntersecting)
        .forEach(({ target }) => {
          watcher.unobserve(target);
          const entry = charts.find(({ place }) => place === target);
          if (!entry.drawn) draw(entry);
        });
    },
    { rootMargin: "400px" },
  );
  charts.forEach(({ place }) => watcher.observe(place));
}

let waiting = 0;
function onResize() {
  clearTimeout(waiting);
  waiting = setTimeout(
    () => charts.filter(({ drawn, place, width }) => drawn && place.clientWidth !== width).forEach(draw),
    120,
  );
}

function makeTheme() {
  const button = byId("theme");
  const tell = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  const change = () => {
    tell();
    drawAgain();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    change();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
  tell();
}

/** Replaces the layers of a chart by one canvas: on paper only the topmost layer would be shown, and only as far as it is painted. */
function toPaper(entry) {
  // A finer resolution than that of the chart makes ECharts paint anew instead of copying layers that may be incomplete.
  entry.paper = entry.drawn.renderToCanvas({
    pixelRatio: Math.max(2, devicePixelRatio) + 1,
    backgroundColor: colour("page"),
  });
  Object.assign(entry.paper.style, { position: "static", width: paperWidth(entry), height: "auto", display: "block" });
  entry.place.after(entry.paper);
  entry.place.style.display = "none";
}

// The widths of charts on paper in pixels; A4 and Letter have room for about 680.
const PAPER = { heatmap: 380, "member-bars": 320, "member-matrix": 320 };
const paperWidth = ({ place }) => `${PAPER[place.id] ?? 660}px`;

/** Prepares the page for printing: on paper it is light and narrow, and all details are open. */
function makePrint() {
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = {
      theme: document.documentElement.dataset.theme,
      closed: [...document.querySelectorAll("details:not([open])")],
    };
    document.documentElement.dataset.theme = "light";
    state.onPaper = true;
    before.closed.forEach((part) => {
      part.open = true;
    });
    charts.forEach((entry) => {
      Object.assign(entry.place.style, { width: paperWidth(entry), flex: "none" });
    });
    charts.forEach(draw);
    charts.forEach(toPaper);
  });
  window.addEventListener("afterprint", () => {
    if (!before) return;
    state.onPaper = false;
    if (before.theme) document.documentElement.dataset.theme = before.theme;
    else delete document.documentElement.dataset.theme;
    before.closed.forEach((part) => {
      part.open = false;
    });
    charts.forEach(({ place, paper }) => {
      Object.assign(place.style, { width: "", flex: "", display: "" });
      paper.remove();
    });
    redraw();
  });
  byId("print").addEventListener("click", () => window.print());
}

function tellStop() {
  const { k, anmi, density } = stop();
  const told = `${plural(k, "cluster")} · ANMI ${fixed(anmi, 3)} · density ${fixed(density, 3)}`;
  byId("stop-told").textContent = told;
  byId("stop").setAttribute("aria-valuetext", told);
  byId("stop-own").disabled = isOwn();
  document.querySelectorAll(".stop-k").forEach((place) => {
    place.textContent = plural(k, "cluster");
  });
  document.querySelectorAll(".whose").forEach((note) => {
    note.hidden = isOwn();
  });
  const { length } = stop().clusters;
  byId("bars-told").textContent = length > BARS ? `The ${BARS} largest of ${counted(length)} clusters are drawn.` : "";
}

// On paper a long legend is set smaller; the table of profiles has the names and colours of a legend that is too long.
const LEGENDS = [
  [24, "short"],
  [48, "long"],
  [102, "very long"],
  [Infinity, "too long"],
];

function drawLegend() {
  const { clusters, sizes } = stop();
  const places = new Map(runs().map(({ cluster }, place) => [cluster, place]));
  const inMap = (place) => places.get(clusters[place]) ?? Infinity;
  const bySize = clusters.map((_, place) => place).sort((one, other) => sizes[other] - sizes[one]);
  const order = bySize.sort((one, other) => (inMap(one) === inMap(other) ? 0 : inMap(one) - inMap(other)));
  byId("legend").dataset.length = LEGENDS.find(([most]) => order.length <= most)[1];
  byId("colours-told").textContent =
    order.length > data.distinct_colours
      ? `With more than ${data.distinct_colours} clusters some colours look alike, so go by names and order.`
      : "";
  const items = order.map((place) => {
    const item = element("li");
    const swatch = element("span", undefined, { class: "swatch" });
    swatch.style.background = clusterColour(clusters[place]);
    item.append(
      swatch,
      element("span", clusterName(clusters[place]), { class: "name" }),
      element("span", counted(sizes[place]), { class: "size" }),
    );
    return item;
  });
  byId("legend").replaceChildren(...items);
}

function moveTo(place) {
  state.stop = place;
  byId("stop").value = place;
  tellStop();
  if (data.maps) drawLegend();
  drawClusterTable();
  tellDownload();
  const follows = new Set(["heatmap", "map", "curves", "cluster-bars"]);
  charts.filter(({ drawn, place: { id } }) => drawn && follows.has(id)).forEach(draw);
}

function makeSlider() {
  const slider = byId("stop");
  slider.max = data.stops.length - 1;
  slider.value = data.own;
  byId("slider").hidden = data.stops.length < 2;
  byId("slider-told").hidden = data.stops.length < 2;
  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  byId("stop-own").addEventListener("click", () => {
    moveTo(data.own);
    slider.focus();
  });
  tellStop();
}

function makeCopying() {
  document.querySelectorAll(".copy").forEach((button) => {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
  });
}

async function unpackMaps() {
  const { maps } = data;
  const [heat, confidence, labels, stops] = await Promise.all([
    shares(maps.heat),
    shares(maps.confidence),
    integers(maps.cells),
    Promise.all(
      maps.stops.map(async ({ bins, closest }) => ({ bins: await integers(bins), closest: await integers(closest) })),
    ),
  ]);
  return { ...maps, heat, confidence, cells: labels, stops };
}

function addMaps() {
  if (data.maps) {
    addChart("heatmap", "Heatmap of how many members put objects together, by cluster", heatmap);
    drawLegend();
    addChart("map", "How every member labels the objects, by cluster", map);
    return;
  }
  const told = `There are more than ${counted(data.most_clusters)} clusters, too many for a map. The figures below show the largest.`;
  byId("heatmap").closest("figure").replaceWith(element("p", told));
  byId("map").closest("figure").remove();
}

function addCurves() {
  const enough = data.choice ? Object.keys(data.choice.curves).length : data.stops.length > 1;
  byId("curves-figure").hidden = !enough;
  if (!enough) return;
  byId("curves-told").textContent = data.choice
    ? `Each curve is scaled from its lowest to its highest value; high is good. ${plural(data.choice.chosen, "cluster")} ${data.choice.chosen === 1 ? "was" : "were"} chosen.`
    : "ANMI is the mean NMI with the members; density is the mean co-association within clusters. Density tends to rise with the number of clusters, whatever the data are.";
  addChart("curves", "Criteria over the number of clusters", curves);
}

async function start() {
  makeTheme();
  makePrint();
  makeCopying();
  [state.maps, state.matrix] = await Promise.all([data.maps ? unpackMaps() : null, shares(data.members.matrix)]);
  makeSlider();
  addMaps();
  addCurves();
  addChart(
    "cluster-bars",
    "Size, confidence and density of the clusters; the table below has the numbers",
    clusterBars,
  );
  addChart("member-bars", "NMI of the members with the consensus; the table below has the numbers", memberBars);
  addChart("member-matrix", "NMI of every two members", memberMatrix);
  addChart("histogram", "Histogram of the confidence of objects", histogram);
  byId("members-told").textContent =
    data.members.n > data.members.names.length
      ? `${counted(data.members.names.length)} of ${counted(data.members.n)} members are drawn, spread evenly over the order of their NMI.`
      : "";
  byId("grey-told").textContent = state.matrix.includes(null)
    ? "A cell is empty if the two label no object in common."
    : "";
  makeTable();
  makeNaming();
  drawSwatches();
  tellDownload();
  byId("download").addEventListener("click", saveLabels);
  drawWhenSeen();
  window.addEventListener("resize", onResize);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
}

/** Holds back the event `load`, which browsers without a window wait for before they print, until the figures are there. */
function heldLoad() {
  const frame = element("iframe", undefined, { hidden: "", title: "loading" });
  document.body.append(frame);
  frame.contentDocument.open();
  return () => {
    frame.contentDocument.close();
    frame.remove();
  };
}

const ready = heldLoad();
start().finally(ready).catch((error) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent =
    `The figures cannot be drawn in this browser (${error.message}); a browser from 2023 or later can.`;
  throw error;
});
