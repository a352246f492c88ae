// What is wrong with how the page looks: what is wider than the screen, and texts whose contrast is below WCAG 2 AA.
(() => {
  const parts = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const channel = (value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const named = (element) => `${element.tagName}.${element.className} ${element.textContent.trim().slice(0, 20)}`;
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = (element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".top nav");
    wrong.push(...[...document.querySelectorAll("body *")].filter(wide).slice(0, 5).map(named), "wider than the screen");
  }
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest(".hidden, .skip")) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) wrong.push(`${named(element)}: ${ratio.toFixed(2)}`);
  }
  return wrong;
})()
