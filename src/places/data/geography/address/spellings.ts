import type { Names } from '../names.ts';

/** Names by their short forms. All are in the normalized form that `placeKey` returns. */
const namesIn = (text: string) => new Map(text.split(', ').map((pair) => pair.split(': ') as [string, string]));

const nicknames = namesIn(
  'nyc: new york city, n y c: new york city, new york n y: new york city, palikir: palikir national government center, ' +
    'philly: philadelphia, vegas: las vegas, frisco: san francisco, sfo: san francisco, washington d c: washington, ' +
    'washington dc: washington, hcmc: ho chi minh city, tp hcm: ho chi minh city, tp ho chi minh: ho chi minh city, cdmx: mexico city, ' +
    'ciudad de mexico cdmx: mexico city, bsas: buenos aires, bs as: buenos aires, caba: buenos aires, jozi: johannesburg, ' +
    'joburg: johannesburg, jburg: johannesburg, spb: saint petersburg, спб: saint petersburg, мск: moscow, clermont fd: clermont ferrand, ' +
    'a coruna: la coruna, bsl: basel',
);

const abbreviations = namesIn(
  'n: north new, s: san south santa sao saint sankt santo sant, e: east, w: west, no: north, so: south, pt: port point, ' +
    'pto: puerto porto, pte: puente pointe, sta: santa, sto: santo, sn: san, gt: great, gr: grand gross, hts: heights, hgts: heights, ' +
    'spgs: springs, spg: spring, bch: beach, cty: city, ctr: center, jct: junction, vly: valley, twp: township, pk: park, hbr: harbor, ' +
    'is: island, isl: island, lk: lake, cd: ciudad, bad: bad, gral: general, cnel: coronel, gdor: gobernador, ste: sainte, b: bad, ' +
    'kgl: koniglich',
);

const longestAbbreviation = 4;

/** Maximum number of letters in an abbreviation that is the beginning of a word, as in `i. Br.` */
const longestBeginning = 3;

/** Maximum number of names with which an abbreviated name is compared. */
const maxCompared = 400;

export function spellings(words: readonly string[], names: Names): readonly string[] {
  const nickname = nicknames.get(words.length === 1 ? (words[0] as string) : words.join(' '));
  if (nickname) return [nickname];
  if (words.length < 2 || !words.some((word) => word.length <= longestAbbreviation)) return none;
  const spelled = words.flatMap((word, index) => {
    const wholes = abbreviations.get(word)?.split(' ') ?? none;
    return wholes.map((whole) => words.with(index, whole).join(' ')).filter((name) => names.find(name));
  });
  return spelled.length > 0 ? spelled : begunBy(words, names);
}

const none: readonly string[] = [];

/** The first word must be complete; other words may be beginnings: `freiburg i br` matches `freiburg im breisgau`. */
function begunBy(words: readonly string[], names: Names): string[] {
  const [first = '', second = ''] = words;
  if (first.length <= longestBeginning || !words.some((word, index) => index > 0 && word.length <= longestBeginning)) return [];
  const found: string[] = [];
  for (const name of names.startingWith(`${first} ${second}`, maxCompared)) {
    const whole = name.split(' ');
    const isBegun = (word: string, index: number) =>
      whole[index] === word || (word.length <= longestBeginning && whole[index]?.startsWith(word));
    if (whole.length === words.length && words.every(isBegun)) found.push(name);
  }
  return found;
}
