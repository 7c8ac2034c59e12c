/* What the scripts of pages with data begin with. */
const data = JSON.parse(document.getElementById("data").textContent);
@page_elements.js@