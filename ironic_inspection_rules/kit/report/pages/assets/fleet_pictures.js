// Traits and resource classes before and after, and the results as a bar.
const FLOWS = 9;
const COMPARED = data.compared ?
  ', compared with what the rules in force leave.' : '.';

// A piece of a bar.
function share(className, value, most) {
  const piece = make('i', {className});
  piece.style.width = `${100 * value / most}%`;
  return piece;
}

// Draw again whenever the width changes.
function drawn(box, render) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now && now !== width) {
      width = now;
      box.replaceChildren(render(now));
    }
  }).observe(box);
  return box;
}

function resultBar() {
  const counts = tally(nodes.map((node) => node.state));
  const shown = Object.keys(states).reverse().filter(
    (state) => counts.has(state));
  const piece = (state) => {
    const made = make('i', {className: `state ${state}`,
      title: states[state][0]});
    made.style.flexGrow = counts.get(state);
    return made;
  };
  return make('div', {className: 'results keep'},
    make('div', {className: 'stack', aria: {hidden: 'true'}},
      shown.map(piece)),
    make('div', {className: 'legend'}, shown.map((state) => make('a', {
      href: `#state=${state}`}, make('i', {className: `state ${state}`}),
    states[state][0], make('b', {}, number.format(counts.get(state))),
    make('small', {}, percent(counts.get(state), nodes.length))))));
}

// The machines with a trait before, and those that gain or lose it; traits
// that change most come first.
function traitCounts() {
  const found = new Map();
  const of = (name) => {
    if (!found.has(name)) {
      found.set(name, {name, before: 0, gained: 0, lost: 0});
    }
    return found.get(name);
  };
  for (const node of nodes) {
    const {gains, loses} = node.outcome;
    for (const name of new Set([...node.traits, ...loses])) {
      if (hadBefore(node, name)) { of(name).before += 1; }
    }
    for (const name of gains) {
      if (!hadBefore(node, name)) { of(name).gained += 1; }
    }
    for (const name of loses) {
      if (hadBefore(node, name)) { of(name).lost += 1; }
    }
  }
  const changed = ({gained, lost}) => gained + lost;
  return [...found.values()].sort((one, other) =>
    changed(other) - changed(one) || other.before - one.before ||
    collator.compare(one.name, other.name));
}

function traitRow(trait, most) {
  const piece = (className, value) => share(className, value, most);
  const delta = (key, sign, value, look) => value ? link(key, trait.name,
    make('span', {className: look}, `${sign}${number.format(value)}`)) :
    null;
  return make('div', {className: 'trait'},
    make('div', {}, link('trait', trait.name, trait.name),
      make('span', {className: 'counts'},
        `${number.format(trait.before)} → ` + number.format(
          trait.before + trait.gained - trait.lost), ' ',
        delta('gained', '+', trait.gained, 'gain'), ' ',
        delta('lost', '−', trait.lost, 'loss'))),
    make('div', {className: 'rail', aria: {hidden: 'true'}},
      piece('stay', trait.before - trait.lost),
      piece('lose', trait.lost), piece('gain', trait.gained)));
}

function traitPicture() {
  const traits = traitCounts();
  const most = Math.max(1, ...traits.map(
    (trait) => trait.before + trait.gained));
  const changed = traits.filter((trait) => trait.gained || trait.lost);
  const words = changed.length ?
    `${many(changed.length, 'trait is', 'traits are')} gained or lost` :
    'None is gained or lost';
  const first = Math.max(5, Math.min(changed.length, 14));
  return {kind: 'card', id: 'traits', menu: 'Traits',
    title: 'Traits before and after', about: words + COMPARED,
    parts: [some(traits, first, (trait) => traitRow(trait, most),
      make('div', {className: 'traits'}))]};
}

// A side of the flow: its biggest classes with their numbers of machines, and
// all others as one, for which FLOWS stands. of: class => its entry.
function side(name) {
  const counts = largestFirst(tally(nodes.map((node) => node[name])));
  const own = counts.slice(0, FLOWS);
  own.sort(([one], [other]) => familiar(one) - familiar(other));
  const rest = counts.slice(FLOWS).reduce((sum, [, value]) => sum + value, 0);
  return {of: (value) => own.some(([known]) => known === value) ? value :
    FLOWS, list: [...own, ...(rest ? [[FLOWS, rest]] : [])]};
}

// Both sides are in the order of the left one, so that few bands cross.
const familiarClasses = largestFirst(tally(nodes.map(
  (node) => node.before))).map(([value]) => value);

// The place of a class on both sides; new ones and none come last.
function familiar(value) {
  if (value === null) { return familiarClasses.length + 1; }
  const place = familiarClasses.indexOf(value);
  return place < 0 ? familiarClasses.length : place;
}

// Where the boxes of a side are: class => {top, high, count, used}, where used
// is how much of its height has bands. A small box is high enough for a name.
function heights(list, height) {
  const gap = 8;
  const least = 20;
  const free = height - gap * (list.length - 1) - least * list.length;
  let top = 0;
  return new Map(list.map(([value, size]) => {
    const high = least + free * size / nodes.length;
    const box = {top, high, count: size, used: 0};
    top += high + gap;
    return [value, box];
  }));
}

function className(value) {
  if (value === FLOWS) { return 'others'; }
  return value === null ? '(none)' : value;
}

// The band of size machines between two boxes. It takes the next free part of
// both, so bands have to come in the order of the boxes.
function band(from, to, size, right, changed) {
  const part = (box) => {
    const high = box.high * size / box.count;
    const top = box.top + box.used;
    box.used += high;
    return [top, top + high];
  };
  const [fromTop, fromEnd] = part(from);
  const [toTop, toEnd] = part(to);
  const middle = right / 2;
  return draw('path', {class: changed ? 'band changed' : 'band',
    d: `M10 ${fromTop}C${middle} ${fromTop} ${middle} ${toTop} ` +
      `${right} ${toTop}V${toEnd}C${middle} ${toEnd} ${middle} ${fromEnd} ` +
      `10 ${fromEnd}Z`});
}

// The name of a class as far as there is room, and its number if it fits too.
function flowName(value, size, room) {
  const letters = Math.floor(room / 7.6);
  const name = className(value);
  const digits = number.format(size);
  const shown = name.length > letters ? `${name.slice(0, letters - 1)}…` :
    name;
  return [shown, ...(name.length + digits.length + 1 > letters ? [] : [
    draw('tspan', {class: 'count', dx: 6}, digits)])];
}

function flowPicture(width) {
  const [before, after] = [side('before'), side('after')];
  const height = 46 * Math.max(before.list.length, after.list.length, 3);
  const right = width - 10;
  const [left, end] = [before.list, after.list].map(
    (list) => heights(list, height));
  const flows = tally(nodes.map((node) => JSON.stringify(
    [before.of(node.before), after.of(node.after)])));
  const sides = [...left.keys()];
  const ends = [...end.keys()];
  const bands = [...flows].map(([names, value]) => [...JSON.parse(names),
    value]).sort((one, other) =>
    sides.indexOf(one[0]) - sides.indexOf(other[0]) ||
    ends.indexOf(one[1]) - ends.indexOf(other[1]));
  const shapes = bands.map(([from, to, value]) => {
    const shape = band(left.get(from), end.get(to), value, right,
      from !== to);
    shape.append(draw('title', {}, `${className(from)} → ` +
      `${className(to)}: ${many(value, 'machine', 'machines')}`));
    return draw('a', {href: `#flow=${sides.indexOf(from)}-` +
      ends.indexOf(to), tabindex: from === to ? -1 : 0,
    'aria-label': `${className(from)} to ${className(to)}: ${value}`},
    shape);
  });
  const names = [[left, 0, 16, 'start'], [end, right, right - 6, 'end']]
    .flatMap(([boxes, x, at, anchor]) => [...boxes].flatMap(
      ([value, box]) => [draw('rect', {x, y: box.top, width: 10, rx: 2,
        height: box.high, class: 'end'}), draw('text', {x: at,
        y: box.top + box.high / 2, 'text-anchor': anchor,
        'dominant-baseline': 'central'}, ...flowName(value, box.count,
        width / 2 - 24))]));
  return draw('svg', {width, height, viewBox: `0 0 ${width} ${height}`,
    class: 'flow', role: 'group',
    'aria-label': 'Resource classes before and after'}, shapes, names);
}

function classPicture() {
  const moved = count((node) => node.before !== node.after);
  const words = moved ?
    `${many(moved, 'machine gets', 'machines get')} another one` :
    'No machine gets another one';
  return {kind: 'card', id: 'classes', menu: 'Classes',
    title: 'Resource classes before and after', about: words + COMPARED,
    parts: [drawn(make('div', {className: 'keep'}), flowPicture)]};
}
