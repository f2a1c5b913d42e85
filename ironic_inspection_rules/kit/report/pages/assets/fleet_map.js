// Which rules match which machines: a row a rule, machines from left to
// right, alike ones together.
const MAP_WORST = ['error', 'failed', 'risk', 'changed', 'same', 'untried'];

function inOrder() {
  const popular = rules.map((rule) => rule.at).sort(
    (a, b) => rules[b].machines - rules[a].machines);
  const rank = [];
  popular.forEach((at, index) => { rank[at] = index; });
  const keys = new Map();
  for (const {signature, matches} of nodes) {
    if (keys.has(signature)) { continue; }
    const bits = new Array(rules.length).fill('1');
    matches.forEach((at) => { bits[rank[at]] = '0'; });
    keys.set(signature, bits.join(''));
  }
  const position = new Map([...keys].sort(
    ([, a], [, b]) => a < b ? -1 : 1).map(([key], at) => [key, at]));
  return [...nodes].sort((a, b) => position.get(a.signature) -
    position.get(b.signature) || MAP_WORST.indexOf(b.state) -
    MAP_WORST.indexOf(a.state));
}

function rgb(text) {
  const value = parseInt(text.slice(1), 16);
  return [value >> 16, value >> 8 & 255, value & 255];
}

class RuleMap {
  constructor() {
    this.nodes = inOrder();
    this.high = rules.length > 60 ? 13 : rules.length > 30 ? 16 : 20;
    this.strip = 26;
    this.canvas = make('canvas', {aria: {role: 'img',
      label: 'Rules by machines; the table of rules has the numbers'}});
    this.told = make('p', {className: 'told soft'},
      'Point at the map to see which rule and which machines it is.');
    const names = make('div', {className: 'names'}, make('span', {},
      'Result'), rules.map((rule) => make('a', {
      href: `#rule=${encodeURIComponent(rule.uuid)}`, title: rule.title},
    rule.title)));
    names.style.gridTemplateRows =
      `${this.strip}px repeat(${rules.length}, ${this.high}px)`;
    names.style.fontSize = `${Math.min(13, this.high - 2)}px`;
    const box = make('div', {className: 'canvas'}, this.canvas);
    new ResizeObserver(() => this.draw(box.clientWidth)).observe(box);
    onTheme.push(() => this.draw(box.clientWidth));
    this.canvas.addEventListener('pointermove', (event) => this.tell(event));
    this.canvas.addEventListener('click', (event) => {
      const {rule, part} = this.at(event);
      location.hash = rule ? `matches=${encodeURIComponent(rule.uuid)}` :
        `machine=${encodeURIComponent(part[0].uuid)}`;
    });
    this.element = make('div', {}, make('div', {className: 'map'}, names,
      box), this.told);
  }

  part(x) {
    const {columns} = this;
    const from = Math.floor(x * this.nodes.length / columns);
    const to = Math.max(from + 1,
      Math.floor((x + 1) * this.nodes.length / columns));
    return this.nodes.slice(from, to);
  }

  draw(width) {
    if (!width || !nodes.length) { return; }
    this.columns = Math.floor(width);
    const scale = devicePixelRatio || 1;
    const height = this.strip + rules.length * this.high;
    Object.assign(this.canvas, {width: width * scale,
      height: height * scale});
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    context.imageSmoothingEnabled = false;
    const [empty, full] = [rgb(colour('quiet-soft')), rgb(colour('accent'))];
    const look = {error: 'bad', failed: 'warn', risk: 'risk',
      changed: 'good', same: 'quiet', untried: 'line'};
    const image = new ImageData(this.columns, rules.length);
    for (let x = 0; x < this.columns; x += 1) {
      const part = this.part(x);
      const hits = new Array(rules.length).fill(0);
      part.forEach(({matches}) => matches.forEach((at) => {
        hits[at] += 1;
      }));
      hits.forEach((value, y) => {
        const share = value ? .25 + .75 * value / part.length : 0;
        const at = 4 * (y * this.columns + x);
        for (const band of [0, 1, 2]) {
          image.data[at + band] = empty[band] + share *
            (full[band] - empty[band]);
        }
        image.data[at + 3] = 255;
      });
      const worst = MAP_WORST.find((state) => part.some(
        (node) => node.state === state));
      context.fillStyle = colour(look[worst]);
      context.fillRect(x, 4, 1, this.strip - 10);
    }
    const rows = document.createElement('canvas');
    Object.assign(rows, {width: this.columns, height: rules.length});
    rows.getContext('2d').putImageData(image, 0, 0);
    rules.forEach((_rule, y) => context.drawImage(rows, 0, y, this.columns,
      1, 0, this.strip + y * this.high + 1, this.columns, this.high - 2));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.min(this.columns - 1,
      Math.max(0, Math.floor(event.clientX - box.left)));
    const y = Math.floor((event.clientY - box.top - this.strip) / this.high);
    return {rule: rules[y], part: this.part(x)};
  }

  tell(event) {
    const {rule, part} = this.at(event);
    const names = part.length > 1 ? `${part[0].name} … ${
      part[part.length - 1].name}` : part[0].name;
    const matched = rule && part.filter(
      (node) => node.matches.includes(rule.at)).length;
    this.told.textContent = rule ? `“${rule.title}” matches ${matched} of ` +
      `${many(part.length, 'machine', 'machines')}: ${names}` :
      `${[...new Set(part.map((node) => states[node.state][0]))]
        .join(', ')}: ${names}`;
  }
}

function mapCard() {
  return card('map', 'Rules by machines', 'A row is a rule, a column some ' +
    'machines; those that the same rules match are together.',
  new RuleMap().element);
}
