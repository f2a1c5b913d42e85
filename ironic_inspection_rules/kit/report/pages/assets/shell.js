'use strict';
// What comes from machines is put in as text, never as HTML.
const data = JSON.parse(document.getElementById('data').textContent);
const SVG = 'http://www.w3.org/2000/svg';
const number = new Intl.NumberFormat('en');
const collator = new Intl.Collator('en', {numeric: true});

function make(tag, properties, ...children) {
  const {dataset, aria, ...plain} = properties || {};
  const made = Object.assign(document.createElement(tag), plain);
  Object.assign(made.dataset, dataset);
  for (const [name, value] of Object.entries(aria || {})) {
    made.setAttribute(name === 'role' ? name : `aria-${name}`, value);
  }
  made.append(...children.flat().filter((each) => each !== null));
  return made;
}

function draw(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    made.setAttribute(name, value);
  }
  made.append(...children.flat());
  return made;
}

function icon(...paths) {
  return draw('svg', {viewBox: '0 0 24 24', fill: 'none',
    stroke: 'currentColor', 'stroke-width': 1.8, 'stroke-linecap': 'round',
    'stroke-linejoin': 'round', 'aria-hidden': 'true'},
  paths.map((d) => draw('path', {d})));
}

function many(count, one, more) {
  return `${number.format(count)} ${count === 1 ? one : more}`;
}

function percent(part, whole) {
  if (!whole || !part) { return '0 %'; }
  const share = 100 * part / whole;
  return share < 1 ? '< 1 %' : `${Math.floor(share)} %`;
}

function link(key, value, ...children) {
  return make('a', {href: `#${key}=${encodeURIComponent(value)}`},
    ...children);
}

// What the address says after "#": a key and its value, as link() wrote it.
function place() {
  const [key, ...rest] = location.hash.slice(1).split('=');
  try {
    return [key, decodeURIComponent(rest.join('='))];
  } catch {
    return [key, ''];
  }
}

function colour(name) {
  return getComputedStyle(document.documentElement)
    .getPropertyValue(`--${name}`).trim();
}

const onTheme = [];
const night = matchMedia('(prefers-color-scheme: dark)');
const paper = matchMedia('print');
let chosen = null;
try {
  chosen = localStorage.getItem('theme');
} catch {
  // A browser may keep nothing for a page from a file.
}

function usual() {
  return night.matches ? 'dark' : 'light';
}

function setTheme() {
  document.documentElement.dataset.theme = paper.matches ? 'light' :
    chosen || usual();
  onTheme.forEach((redraw) => redraw());
}

// What is chosen is kept for other pages, as long as it is not as usual.
function otherTheme() {
  const other = (chosen || usual()) === 'dark' ? 'light' : 'dark';
  chosen = other === usual() ? null : other;
  try {
    if (chosen) {
      localStorage.setItem('theme', chosen);
    } else {
      localStorage.removeItem('theme');
    }
  } catch {
    // Then it is so for as long as the page is open.
  }
  setTheme();
}

function bar(sections) {
  const tool = (title, onclick, ...paths) => make('button', {
    type: 'button', title, onclick, aria: {label: title}}, icon(...paths));
  return make('div', {className: 'bar'}, make('div', {},
    make('nav', {aria: {label: 'Sections'}}, sections.map(
      ([id, title]) => make('a', {href: `#${id}`}, title))),
    make('div', {className: 'tools'},
      tool('Dark or light', otherTheme,
        'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z'),
      tool('Print', () => print(),
        'M7 8V3h10v5M7 17H4V9h16v8h-3M7 14h10v7H7z'))));
}

function card(id, title, about, ...children) {
  return make('section', {className: 'card', id, aria: {label: title}},
    make('header', {}, make('h2', {}, title), about ?
      make('p', {}, about) : null), ...children);
}

function tile(count, label, look, href) {
  return make(href ? 'a' : 'div', {
    className: `tile ${count ? look : ''}`, ...(href ? {href} : {})},
  make('b', {}, number.format(count)), make('span', {}, typeof label === 'string' ? label :
    label[count === 1 ? 0 : 1]));
}

// The first of many items, and a button for the rest.
function some(items, first, render, box) {
  const rest = items.slice(first);
  box.append(...items.slice(0, first).map(render));
  if (!rest.length) { return box; }
  const button = make('button', {type: 'button', className: 'more',
    onclick: () => {
      const added = rest.splice(0, 200).map(render);
      box.append(...added);
      if (rest.length) { label(); } else { holder.remove(); }
      added[0]?.querySelector('a, button')?.focus();
      if (rest.length) { box.append(holder); }
    }});
  const label = () => {
    button.textContent = rest.length > 200 ?
      `Show 200 of ${number.format(rest.length)} more` :
      `Show ${number.format(rest.length)} more`;
  };
  const holder = make(box.tagName === 'UL' ? 'li' : 'div',
    {className: 'rest'}, button);
  label();
  box.append(holder);
  return box;
}

function later(call) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(call, 60);
  };
}

function show(sections, ...parts) {
  document.body.prepend(bar(sections), make('main', {}, parts));
}

night.addEventListener('change', setTheme);
addEventListener('beforeprint', setTheme);
addEventListener('afterprint', setTheme);
paper.addEventListener('change', setTheme);
setTheme();
addEventListener('keydown', (event) => {
  const search = document.querySelector('input[type=search]');
  if (event.key === '/' && search &&
      !/INPUT|SELECT/.test(document.activeElement.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
