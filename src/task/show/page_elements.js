/* What the scripts of all pages have: elements by id, and new elements. */
const at = id => document.getElementById(id);
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
