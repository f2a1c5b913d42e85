// A rule as text, its lines coloured by what machines reached of them.
function reachedWords(word, times) {
  return times ? `${word} ${number.format(times)}` :
    make('b', {}, `never ${word}`);
}

function counts(numbers, why) {
  if (numbers.length === 2) {
    return make('span', {}, reachedWords('true', numbers[0]), ' · ',
      reachedWords('false', numbers[1]));
  }
  return make('span', {}, reachedWords('ran', numbers[0]),
    why ? make('small', {}, `not: ${why}`) : null);
}

function sourceLine({text, state, counts: numbers, why}, at) {
  return make('div', {className: state},
    make('i', {aria: {hidden: 'true'}}, String(at + 1)),
    make('code', {}, text), numbers.length ? counts(numbers, why) : null);
}

drawers.rulesource = ({lines}) => make('div', {className: 'source'},
  lines.map(sourceLine));
