/* What the scripts of all pages begin with: the page's data, elements by id, and new elements. */
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
