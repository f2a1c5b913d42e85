// Rules as text, coloured by what machines reached of them.
const rules = data.rules;
const whole = rules.filter((rule) => rule.reached === rule.parts);

function share(value) {
  // Down, so that only what is whole is called so.
  return `${Math.floor(value)} %`;
}

function counts(numbers, why) {
  const one = (word, value) => value ? `${word} ${number.format(value)}` :
    make('b', {}, `never ${word}`);
  if (numbers.length === 2) {
    return make('span', {}, one('true', numbers[0]), ' · ',
      one('false', numbers[1]));
  }
  return make('span', {}, one('ran', numbers[0]),
    why ? make('small', {}, `not: ${why}`) : null);
}

function source(rule) {
  return make('div', {className: 'source'}, rule.lines.map(
    ([text, state, numbers, why], at) => make('div', {className: state},
      make('i', {aria: {hidden: 'true'}}, String(at + 1)),
      make('code', {}, text), numbers.length ? counts(numbers, why) : null)));
}

function look(rule) {
  return rule.reached === rule.parts ? 'good' : rule.reached ? 'warn' :
    'bad';
}

function section(rule) {
  return make('section', {className: 'card rule', id: rule.uuid,
    tabIndex: -1, aria: {label: rule.title}}, make('h3', {},
    make('span', {}, rule.title), make('span', {
      className: `tag ${look(rule)}`}, share(rule.percent))), source(rule));
}

const table = new Table({label: 'Rules', rows: rules, columns: [
  {title: 'Rule', sort: (rule) => rule.title,
    cell: (rule) => make('a', {href: `#${encodeURIComponent(rule.uuid)}`},
      rule.title)},
  {title: 'Not reached', look: 'wide', width: '38%', first: 'descending',
    sort: (rule) => rule.parts - rule.reached,
    cell: (rule) => rule.missed.length ? make('span', {
      className: 'soft', title: rule.missed.join('\n')},
    rule.missed.length > 1 ? `${rule.missed[0]}, and ` +
      `${rule.missed.length - 1} more` : rule.missed[0]) : ''},
  {title: 'Covered', width: 'min(38%, 13rem)',
    sort: (rule) => rule.percent,
    cell: (rule) => meter(rule.reached, rule.parts, share(rule.percent))}]});

const search = make('input', {type: 'search', aria: {label: 'Search rules'},
  placeholder: 'Search rules ( / )'});
const partial = make('input', {type: 'checkbox', id: 'partial'});
const found = make('span', {className: 'count', aria: {live: 'polite'}});
const shown = new Map(rules.map((rule) => [rule, section(rule)]));

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = rules.filter((rule) => {
    const element = shown.get(rule);
    const text = `${rule.uuid} ${element.textContent}`.toLowerCase();
    element.hidden = partial.checked && rule.reached === rule.parts ||
      !words.every((word) => text.includes(word));
    return !element.hidden;
  });
  table.show(fits);
  found.textContent = many(fits.length, 'rule', 'rules');
}

const rail = make('b', {});
rail.style.width = `${data.percent}%`;
show([['rules', 'Rules'], ['text', 'As text']],
  make('div', {className: 'title'}, make('h1', {}, 'Coverage of rules'),
    make('p', {className: 'soft'}, `${many(data.machines, 'machine reaches',
      'machines reach')} ${number.format(whole.length)} of ` +
      `${many(rules.length, 'rule', 'rules')} completely · ` +
      `${data.files}, ${data.made}`)),
  make('div', {className: 'card total keep'},
    make('b', {}, share(data.percent)), make('div', {className: 'rail'},
      rail), make('span', {}), make('div', {className: 'key'},
      ...[['covered', 'true and false, or ran'],
        ['half', 'only true, or only false'], ['missed', 'never reached']]
        .map(([name, words]) => make('span', {}, make('i', {
          className: name}), words)))),
  card('rules', 'Rules', null, make('div', {className: 'find'}, search,
    make('label', {}, partial, ' only what is not whole'), found),
  table.element),
  make('div', {id: 'text', className: 'items'}, ...shown.values()));
search.addEventListener('input', later(find));
partial.addEventListener('change', find);
find();
table.sort(2);
