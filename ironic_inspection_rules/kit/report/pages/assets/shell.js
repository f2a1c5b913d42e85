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
  made.append(...children.flat().filter((child) => child !== null));
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

function icon(...shapes) {
  return draw('svg', {viewBox: '0 0 24 24', fill: 'none',
    stroke: 'currentColor', 'stroke-width': 1.8, 'stroke-linecap': 'round',
    'stroke-linejoin': 'round', 'aria-hidden': 'true'},
  shapes.map((shape) => draw('path', {d: shape})));
}

function many(count, one, more) {
  return `${number.format(count)} ${count === 1 ? one : more}`;
}

function percent(part, whole) {
  if (!whole || !part) { return '0 %'; }
  const share = 100 * part / whole;
  return share < 1 ? '< 1 %' : `${Math.floor(share)} %`;
}

// Where a click leads to: a card or table, or rows with a mark.
function address(key, value) {
  return value === undefined || value === '' ? `#${key}` :
    `#${key}=${encodeURIComponent(value)}`;
}

function link(key, value, ...children) {
  return make('a', {href: address(key, value)}, ...children);
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

// The buttons of all pages.
function tool(title, onclick, ...shapes) {
  return make('button', {type: 'button', title, onclick,
    aria: {label: title}}, icon(...shapes));
}

function bar(sections) {
  const menu = make('nav', {aria: {label: 'Sections'}}, sections.map(
    ([id, title]) => make('a', {href: `#${id}`}, title)));
  const tools = make('div', {className: 'tools'},
    tool('Dark or light', otherTheme, 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z'),
    tool('Print', () => print(),
      'M7 8V3h10v5M7 17H4V9h16v8h-3M7 14h10v7H7z'));
  return make('div', {className: 'bar'}, make('div', {}, menu, tools));
}

function card(id, title, about, ...children) {
  return make('section', {className: 'card', id, aria: {label: title}},
    make('header', {}, make('h2', {}, title), about ?
      make('p', {}, about) : null), ...children);
}

// What there is nothing of has neither a colour nor a link.
function tile(count, [one, more], look, href) {
  const words = [make('b', {}, number.format(count)), make('span', {},
    count === 1 ? one : more)];
  if (!count) { return make('div', {className: 'tile'}, words); }
  if (!href) { return make('div', {className: `tile ${look}`}, words); }
  return make('a', {className: `tile ${look}`, href}, words);
}

const STEP = 200;

// The first of many items, and a button for the rest.
function some(items, first, drawItem, box) {
  const rest = items.slice(first);
  box.append(...items.slice(0, first).map(drawItem));
  if (!rest.length) { return box; }
  const button = make('button', {type: 'button', className: 'more'});
  const holder = make(box.tagName === 'UL' ? 'li' : 'div',
    {className: 'rest'}, button);
  const label = () => {
    const left = number.format(rest.length);
    button.textContent = rest.length > STEP ? `Show ${STEP} of ${left} more` :
      `Show ${left} more`;
  };
  button.addEventListener('click', () => {
    const added = rest.splice(0, STEP).map(drawItem);
    holder.before(...added);
    label();
    if (!rest.length) { holder.remove(); }
    added[0].querySelector('a, button')?.focus();
  });
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

// The title comes first, also for those who listen; the menu stays in sight.
function show({headline, about}, sections, parts) {
  const title = make('header', {className: 'title'},
    make('h1', {}, headline), make('p', {className: 'soft'}, about));
  document.body.prepend(title, bar(sections), make('main', {}, parts));
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
