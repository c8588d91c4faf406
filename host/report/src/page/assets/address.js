
// What is looked at stands in the address behind `#`, so that a link shows the same again.

const address = {
  get(name, otherwise = "") {
    return new URLSearchParams(location.hash.slice(1)).get(name) ?? otherwise;
  },

  // Go to another view; the way back leads here.
  go(changes) {
    location.hash = address.with(changes);
  },

  // The same view seen otherwise: no place to come back to.
  adjust(changes) {
    location.replace(address.with(changes));
  },

  with(changes) {
    const all = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of Object.entries(changes)) {
      if (value == null || value === "") all.delete(name);
      else all.set(name, value);
    }
    return `#${all}`;
  },

  run() {
    return runs[Number(address.get("run", "0"))] || runs[0];
  },
};
