// Which rules match which machines: a row a rule, machines from left to
// right, alike ones together.
const MAP_WORST = ['error', 'failed', 'risk', 'changed', 'same', 'untried'];
const MAP_COLOURS = {error: 'error', failed: 'bad', risk: 'warn',
  changed: 'good', same: 'quiet', untried: 'line'};
const STRIP = 26;

// A number for every set of rules that match, near for sets that have much in
// common. A set is a text with a digit for each rule, the most frequent rule
// first, and 0 where it matches: so sorted, sets with frequent rules in common
// stand together, and those without any are at the end.
function setPositions() {
  const popular = rules.map((rule) => rule.at).sort(
    (one, other) => rules[other].machines - rules[one].machines);
  const rank = [];
  popular.forEach((at, index) => { rank[at] = index; });
  const keys = new Map();
  for (const {signature, matches} of nodes) {
    if (keys.has(signature)) { continue; }
    const bits = new Array(rules.length).fill('1');
    matches.forEach((at) => { bits[rank[at]] = '0'; });
    keys.set(signature, bits.join(''));
  }
  const sorted = [...keys].sort(([, one], [, other]) => one < other ? -1 : 1);
  return new Map(sorted.map(([signature], at) => [signature, at]));
}

function inOrder() {
  const position = setPositions();
  return [...nodes].sort((one, other) =>
    position.get(one.signature) - position.get(other.signature) ||
    MAP_WORST.indexOf(other.state) - MAP_WORST.indexOf(one.state));
}

function rgb(text) {
  const value = parseInt(text.slice(1), 16);
  return [value >> 16, value >> 8 & 255, value & 255];
}

// So many rules fit into so much height; more of them are lower. The name of
// a rule is a link, which has to be high enough for a finger.
function heightOfRule() {
  if (matchMedia('(pointer: coarse)').matches) { return 24; }
  if (rules.length > 60) { return 13; }
  return rules.length > 30 ? 16 : 20;
}

class RuleMap {
  constructor() {
    this.nodes = inOrder();
    this.high = heightOfRule();
    this.canvas = make('canvas', {aria: {role: 'img',
      label: 'Rules by machines; the table of rules has the numbers'}});
    this.told = make('p', {className: 'told soft'},
      'Point at the map, or touch it, to see which rule and which ' +
      'machines it is.');
    const box = make('div', {className: 'canvas'}, this.canvas);
    new ResizeObserver(() => this.draw(box.clientWidth)).observe(box);
    onTheme.push(() => this.draw(box.clientWidth));
    this.canvas.addEventListener('pointermove', (event) => this.tell(event));
    this.canvas.addEventListener('pointerdown', (event) => this.tell(event));
    this.element = make('div', {}, make('div', {className: 'map'},
      this.names(), box), this.told);
  }

  names() {
    const names = make('div', {className: 'names'},
      make('span', {}, 'Result'), rules.map((rule) => make('a', {
        href: address('rule', rule.uuid), title: rule.title}, rule.title)));
    names.style.gridTemplateRows =
      `${STRIP}px repeat(${rules.length}, ${this.high}px)`;
    names.style.fontSize = `${Math.min(13, this.high - 2)}px`;
    return names;
  }

  // The machines of a column.
  part(column) {
    const {columns} = this;
    const from = Math.floor(column * this.nodes.length / columns);
    const to = Math.max(from + 1,
      Math.floor((column + 1) * this.nodes.length / columns));
    return this.nodes.slice(from, to);
  }

  draw(width) {
    if (!width || !nodes.length) { return; }
    this.columns = Math.floor(width);
    const scale = devicePixelRatio || 1;
    const height = STRIP + rules.length * this.high;
    Object.assign(this.canvas, {width: width * scale,
      height: height * scale});
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    context.imageSmoothingEnabled = false;
    const shades = [rgb(colour('quiet-soft')), rgb(colour('accent'))];
    const image = new ImageData(this.columns, rules.length);
    for (let column = 0; column < this.columns; column += 1) {
      const part = this.part(column);
      this.drawMatches(image, column, part, shades);
      context.fillStyle = colour(MAP_COLOURS[worstOf(part)]);
      context.fillRect(column, 4, 1, STRIP - 10);
    }
    this.drawRows(context, image);
  }

  // The more machines of a column a rule matches, the darker it is.
  drawMatches(image, column, part, [empty, full]) {
    const hits = new Array(rules.length).fill(0);
    part.forEach(({matches}) => matches.forEach((at) => { hits[at] += 1; }));
    hits.forEach((times, row) => {
      const strength = times ? .25 + .75 * times / part.length : 0;
      const at = 4 * (row * this.columns + column);
      for (const band of [0, 1, 2]) {
        image.data[at + band] = empty[band] + strength *
          (full[band] - empty[band]);
      }
      image.data[at + 3] = 255;
    });
  }

  // Each line of pixels becomes as high as a row.
  drawRows(context, image) {
    const rows = document.createElement('canvas');
    Object.assign(rows, {width: this.columns, height: rules.length});
    rows.getContext('2d').putImageData(image, 0, 0);
    rules.forEach((_rule, row) => context.drawImage(rows, 0, row,
      this.columns, 1, 0, STRIP + row * this.high + 1, this.columns,
      this.high - 2));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.min(this.columns - 1,
      Math.max(0, Math.floor(event.clientX - box.left)));
    const row = Math.floor((event.clientY - box.top - STRIP) / this.high);
    return {rule: rules[row], part: this.part(column)};
  }

  tell(event) {
    const {rule, part} = this.at(event);
    const names = part.length > 1 ?
      `${part[0].name} … ${part.at(-1).name}` : part[0].name;
    // A finger covers what it points at, so it leads on from here.
    if (rule) {
      const matched = part.filter(
        (node) => node.matches.includes(rule.at)).length;
      this.told.replaceChildren(link('matches', rule.uuid,
        `“${rule.title}”`), ` matches ${matched} of ` +
        `${many(part.length, 'machine', 'machines')}: ${names}`);
    } else {
      const words = new Set(part.map((node) => states[node.state][0]));
      this.told.replaceChildren(`${[...words].join(', ')}: `,
        link('machine', part[0].uuid, names));
    }
  }
}

function worstOf(part) {
  return MAP_WORST.find((state) => part.some(
    (node) => node.state === state));
}

function mapCard() {
  return {kind: 'card', id: 'map', menu: 'Map', title: 'Rules by machines',
    about: 'A row is a rule, a column some machines; those that the same ' +
      'rules match are together.', parts: [new RuleMap().element]};
}
