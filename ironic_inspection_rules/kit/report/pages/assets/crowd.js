// A picture of many machines, those that are odd in colour.
const SQUARE = 12;
const SIDE = 9;
const WIDEST = 80;
const MANY = 120;

function squarePlace(at, wide) {
  return [SQUARE * (at % wide), SQUARE * Math.floor(at / wide)];
}

function oddSquare([name, file, words], at, wide) {
  const [left, top] = squarePlace(at, wide);
  return draw('a', {href: address('machine', file),
    'aria-label': `${name}: ${words}`}, draw('title', {},
    `${name}: ${words}`), draw('rect', {x: left, y: top, width: SIDE,
    height: SIDE}));
}

// What is alike is one shape: there may be thousands.
function alikeSquares(from, machines, wide) {
  let shape = '';
  for (let at = from; at < machines; at += 1) {
    const [left, top] = squarePlace(at, wide);
    shape += `M${left} ${top}h${SIDE}v${SIDE}h-${SIDE}z`;
  }
  return draw('path', {class: 'normal', d: shape});
}

// On a phone a square has to be large enough for a finger; those of many
// machines are smaller, as the page would be too long.
function crowdWidth(machines) {
  if (!matchMedia('(max-width: 48rem)').matches) { return WIDEST; }
  return machines > MANY ? 24 : 12;
}

drawers.crowd = ({machines, odd}) => {
  const most = crowdWidth(machines);
  const wide = Math.min(most, machines);
  const high = SQUARE * Math.ceil(machines / wide);
  return draw('svg', {class: 'crowd', role: 'group',
    viewBox: `0 0 ${SQUARE * most} ${high}`,
    'aria-label': `${odd.length} of ${machines} are odd`},
  odd.map((machine, at) => oddSquare(machine, at, wide)),
  alikeSquares(odd.length, machines, wide));
};
