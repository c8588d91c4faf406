"use strict";

function make(tag, options, ...children) {
  const element = Object.assign(document.createElement(tag), options);
  element.append(...children);
  return element;
}

/* A card leads to where the environment is played. */
function tile({ name, description, version, path, picture }) {
  const sight = picture
    ? drawn(picture, make("img", { className: "board" }))
    : make("span", { className: "bare", textContent: name.slice(0, 1) });
  const link = make("a", { href: path }, make("span", { className: "window" }, sight), make("strong", { textContent: name }));
  const said = make("p", { textContent: description });
  return make("li", { className: "tile" }, link, said, make("p", { className: "hint", textContent: `version ${version}` }));
}

async function show() {
  const environments = await told("gallery");
  byId("tiles").replaceChildren(...environments.map(tile));
  byId("secret").hidden = true;
  notice("");
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  show().catch((error) => notice(error.message, true));
});

show().catch((error) => notice(error.message, true));
