// New names for clusters: they go into every text, figure and table of the page, and into the downloaded labels.
const firstNames = [...data.names];
const nameInputs = () => [...byId("profile-table").querySelectorAll("input")];

/** Returns the names that the inputs ask for; an empty input asks for the first name of its cluster. */
function wantedNames() {
  const names = [...data.names];
  for (const input of nameInputs()) {
    const cluster = Number(input.dataset.of);
    names[cluster] = input.value.trim() || firstNames[cluster];
  }
  return names;
}

/** Takes the names of the inputs, unless two clusters would have the same: their labels could not be told apart. */
function takeNames() {
  const names = wantedNames();
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  for (const input of nameInputs()) {
    input.setAttribute("aria-invalid", String(twice !== undefined && names[Number(input.dataset.of)] === twice));
  }
  if (twice === undefined) showNames(names);
  else byId("rename-told").textContent = `Two clusters cannot have the same name, “${shortened(twice, 40)}”. Change one.`;
  return twice === undefined;
}

function showNames(names) {
  data.names.splice(0, names.length, ...names);
  document.querySelectorAll("span[data-cluster]").forEach((place) => {
    place.textContent = shortened(names[Number(place.dataset.cluster)], place.closest("th") ? Infinity : 40);
  });
  byId("in-cluster")
    .querySelectorAll("option[value]:not([value=''])")
    .forEach((option) => {
      option.textContent = names[Number(option.value)];
    });
  tellNames();
  drawAgain();
}

function tellNames() {
  const changed = data.names.map((_, cluster) => cluster).filter((c) => data.names[c] !== firstNames[c]);
  byId("rename-undo").hidden = changed.length === 0;
  byId("rename-told").textContent = changed.length
    ? "The new names are in the downloaded labels, too. This page forgets them when it is closed."
    : "";
  byId("rename-code").hidden = !data.renamable || changed.length === 0;
  const pairs = changed.map((cluster) => `${cluster}: ${JSON.stringify(data.names[cluster])}`);
  byId("rename-code").querySelector("code").textContent = `result = result.renamed({${pairs.join(", ")}})`;
}

function openNames() {
  byId("profile-table")
    .querySelectorAll("span[data-cluster]")
    .forEach((place) => {
      const cluster = Number(place.dataset.cluster);
      const input = element("input", undefined, { type: "text", "data-of": cluster, maxlength: 200 });
      input.setAttribute("aria-label", `Name of cluster ${firstNames[cluster]}`);
      input.value = data.names[cluster];
      input.addEventListener("change", takeNames);
      input.addEventListener("keydown", ({ key }) => {
        if (key === "Enter") closeNames();
      });
      place.hidden = true;
      place.after(input);
    });
  byId("rename").textContent = "Done";
  nameInputs()[0].focus();
}

function closeNames() {
  if (!takeNames()) return;
  nameInputs().forEach((input) => {
    input.previousElementSibling.hidden = false;
    input.remove();
  });
  byId("rename").textContent = "Rename clusters";
  byId("rename").focus();
}

function makeNaming() {
  byId("rename").addEventListener("click", () => (nameInputs().length ? closeNames() : openNames()));
  byId("rename-undo").addEventListener("click", () => {
    nameInputs().forEach((input) => {
      input.value = firstNames[Number(input.dataset.of)];
    });
    showNames([...firstNames]);
  });
}
