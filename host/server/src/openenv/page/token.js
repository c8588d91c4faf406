"use strict";

const byId = (id) => document.getElementById(id);

/* The server's token, if it asks for one: kept for as long as the window is open. */
const token = {
  get value() {
    return byId("token").value || sessionStorage.getItem("token") || "";
  },
  keep() {
    if (byId("token").value) sessionStorage.setItem("token", byId("token").value);
  },
};

/* What the server says at a path. */
async function told(path) {
  const headers = token.value ? { Authorization: "Bearer " + token.value } : {};
  const response = await fetch(path, { headers });
  if (response.status === 401) {
    byId("secret").hidden = false;
    throw new Error("This server asks for its token.");
  }
  if (!response.ok) throw new Error(`The server refuses ${path}: ${response.status}.`);
  token.keep();
  return response.json();
}

function notice(text, bad = false) {
  byId("notice").textContent = text;
  byId("notice").classList.toggle("bad", bad);
}

/* An image can only be looked at, whatever stands in it. */
function drawn({ svg, text }, image) {
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  image.alt = text;
  return image;
}
