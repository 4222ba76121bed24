import { countryCode } from '../../../core/lookups/country.ts';
import { foldedText } from '../folded-text.ts';

/** Words before the name of a business in a line of a bank or card statement, in several languages, folded. */
const paymentWords = new Set(
  [
    'pos purchase purchases debit debits card visa mastercard maestro amex checkcard checkcrd check crd authorized recurring payment pmt',
    'preauthorized withdrawal ach contactless signature pin eftpos interac pur dbt retail transaction trans pymt sq tst paypal pp sumup',
    'zettle iz sp applepay googlepay apple google pay klarna stripe bancontact idp dda dc',
    'kartenzahlung girocard ec lastschrift sepa basislastschrift kartenkauf zahlung debitk kreditkarte kartenumsatz bezahlung elv',
    'cb carte achat paiement prlv prelevement facture facturette',
    'betaalautomaat betaling bea pinbetaling betaalpas ideal incasso pintransactie',
    'compra tarjeta pago cargo recibo tarj tpv pagamento acquisto carta addebito operazione cartao debito credito',
    'platnosc karta zakup kortkop kop dankort kob kortbetaling platba kartou',
  ]
    .join(' ')
    .split(' '),
);

/** Words between words for a payment and the name. */
const joiningWords = new Set('at to on from par du a la le en con de del bei via mit przy w hos i by of nr no ref'.split(' '));

/** Words that thank for the payment: `REWE SAGT DANKE`. */
const thanks = /\b(?:sagt danke|dankt|vielen dank|danke|merci|thank you)\b/g;

/** The states of the USA. */
const states = new Set(
  'al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc pr'.split(
    ' ',
  ),
);

/** The provinces and states of Canada and Australia of which no country has the code, and other forms of countries. */
const otherRegions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    CA: 'ab bc mb nb nl on qc sk ns can canada',
    AU: 'nsw vic qld tas act nt aus australia',
    US: 'usa',
    GB: 'gbr uk england scotland wales',
    DE: 'deu germany deutschland',
    FR: 'fra france',
    ES: 'esp spain espana',
    IT: 'ita italy italia',
    NL: 'nld netherlands nederland',
    BE: 'bel belgium belgie belgique',
    AT: 'aut austria osterreich',
    CH: 'che switzerland schweiz suisse',
    PL: 'pol poland polska',
    IE: 'irl ireland',
    SE: 'swe sweden sverige',
    NO: 'nor norway norge',
    DK: 'dnk denmark danmark',
    FI: 'fin finland suomi',
    PT: 'prt portugal',
    CZ: 'cze',
  }).flatMap(([country, names]) => names.split(' ').map((name) => [name, country])),
);

/** Dates, times, phone numbers and masked card numbers. They say nothing about the business. */
const noise =
  /\b\d{4}-\d\d?-\d\d?(?:t[\d:]+)?\b|\b\d\d?[./-]\d\d?(?:[./-]\d{2,4})?\b\.?|\b\d\d?:\d\d(?::\d\d)?\b|\b\d{3}-\d{3}-\d{4}\b|\b\d{1,2} ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b(?: \d{2,4}\b)?|\b[x*]{2,}\d+|\bcb\*\d+|\b(?:pas|karte|card no|kartennr)\.? ?\d+/g;

/** A mark between the code of a payment service and the name: `SQ *`. */
const serviceMark = /^[a-z]{2,7}\s?\*\s*/;

/** The number of a store: four digits, or three after a letter or a sign. */
const storeNumber = /^(?:[a-z#]{1,2}\d{2,}|\d{3,})[a-z]?$/;

/** A number of a store that stands for itself: unknown towns may follow. */
const sureNumber = /^(?:[a-z#]{1,2}\d{2,}|\d{4,})[a-z]?$/;

/** Maximum of words in the name of a town. */
const longestTown = 3;

/** True for a text that may be a line of a statement. Most names are ruled out by this alone. */
export function isStatementLike(text: string): boolean {
  if (/[\d*]/.test(text)) return true;
  const lower = text.toLowerCase();
  const isRegionLast = isRegion(lower.slice(lower.lastIndexOf(' ') + 1));
  return isRegionLast || paymentWords.has(lower.slice(0, Math.max(0, lower.indexOf(' ')))) || lower.includes('dank');
}

/** A part of a line that may be the name of a business. */
export interface StatementName {
  readonly text: string;
  /** True if it may be the name of the place itself, since only a state or country follows: `COLUMBIA MD`. */
  readonly mayBeTown: boolean;
  /** The country that the line ends with; undefined if it names none, or a state that is also the code of a country. */
  readonly country: string | undefined;
}

/** A line of a statement: its words without those for the payment, dates and the like. */
interface Line {
  readonly words: readonly string[];
  /** True if the line has words for a payment. */
  readonly isPayment: boolean;
  /** True if the line has words for a payment, a date or the like. */
  readonly isShortened: boolean;
  /** The state or the country at its end; undefined if there is none. */
  readonly region: string | undefined;
  /** True if it is in capitals, as most statements are. */
  readonly isCapital: boolean;
}

/** The parts of a line of a bank or card statement that may be the name of the business, the likeliest first. Empty for texts of another kind. */
export function statementNames(text: string, isTown: (words: readonly string[]) => boolean): StatementName[] {
  const line = statementLineOf(text);
  const { words, isPayment, isShortened, region } = line;
  const country = region === undefined ? undefined : countryOf(region);
  const names: StatementName[] = [];
  const add = (count: number, mayBeTown = false) => {
    if (count > 0 && !names.some(({ text }) => text === words.slice(0, count).join(' '))) {
      names.push({ text: words.slice(0, count).join(' ').replace(/#/g, ''), mayBeTown, country });
    }
  };
  const numberAt = words.findIndex((word, index) => index > 0 && storeNumber.test(word));
  const rest = words.slice(numberAt + 1);
  if (numberAt > 0 && isPlace(rest, line, words[numberAt] as string, isTown)) add(numberAt, rest.length === 0 && !isPayment);
  if (numberAt > 0) {
    if (isPayment) add(numberAt);
  } else if (isShortened || region !== undefined) {
    add(words.length, !isPayment);
    if (isPayment || region !== undefined) for (const count of townStarts(words, isTown)) add(count);
  }
  return names;
}

/** The counts of words before the towns that end a line: a town, or two alike. */
function townStarts(words: readonly string[], isTown: (words: readonly string[]) => boolean): number[] {
  const counts: number[] = [];
  for (let count = 1; count <= longestTown && count < words.length; count++) {
    if (!isTown(words.slice(-count))) continue;
    const before = words.slice(0, -count);
    const isTwice = before.slice(-count).join(' ') === words.slice(-count).join(' ');
    counts.push(isTwice ? before.length - count : before.length);
  }
  return counts.sort((one, other) => one - other);
}

/** True if the words after the number of a store can be a place. */
function isPlace(
  words: readonly string[],
  { region, isCapital }: Line,
  number: string,
  isTown: (words: readonly string[]) => boolean,
): boolean {
  const rest = words.filter((word) => !/\d/.test(word));
  if (rest.length === 0 || isTown(rest)) return true;
  if (rest.length > longestTown) return false;
  // Small towns and names that are cut off are not known.
  if (sureNumber.test(number) && !year.test(number) && (region !== undefined || isCapital)) return true;
  return region !== undefined && (isTown(rest.slice(-1)) || isTown(rest.slice(-2)));
}

/** A year is no number of a store. */
const year = /^(?:19|20)\d\d$/;

function statementLineOf(text: string): Line {
  const folded = foldedText(text).replace(/['’‘`´]/g, '');
  const withoutNoise = folded.replace(noise, ' ');
  const plain = withoutNoise.replace(thanks, ' ');
  const bare = plain.replace(serviceMark, '');
  const all = bare.replace(/\b([a-z])[-#]+(?=\d)/g, '$1').match(/#?[\p{L}\p{M}\p{N}&+]+/gu) ?? [];
  const start = paymentEnd(all);
  const end = endOf(all, start);
  const words = all.slice(start, end.at);
  const isPayment = start > 0 || bare !== plain || plain !== withoutNoise;
  return {
    words,
    isPayment,
    isShortened: isPayment || withoutNoise !== folded,
    region: end.region,
    isCapital: text === text.toUpperCase(),
  };
}

/** The index of the first word after those for the payment. */
function paymentEnd(words: readonly string[]): number {
  let end = 0;
  for (const [index, word] of words.entries()) {
    const isPayment = paymentWords.has(word);
    if (!isPayment && !(end > 0 && (joiningWords.has(word) || /^[#x]?\d{2,}$/.test(word)))) break;
    if (isPayment || /\d/.test(word) || end > 0) end = index + 1;
  }
  return end < words.length ? end : 0;
}

/** The end of a line without the state and the country, and numbers after them. */
function endOf(words: readonly string[], start: number): { readonly at: number; readonly region: string | undefined } {
  let at = words.length;
  while (at > start + 2 && /^\d{3,}$/.test(words[at - 1] as string) && !isNumberOfStore(words, at - 1)) at--;
  const last = at;
  while (at > start + 1 && isRegion(words[at - 1] as string)) at--;
  return { at, region: at < last ? words[last - 1] : undefined };
}

/** True for a number that may belong to the name: no state, country or number is before it. */
function isNumberOfStore(words: readonly string[], at: number): boolean {
  const before = words[at - 1] as string;
  return !isRegion(before) && !/^\d+$/.test(before);
}

function isRegion(word: string): boolean {
  return states.has(word) || otherRegions.has(word) || (word.length === 2 && countryCode(word) !== undefined);
}

/** The country of a state or a country; undefined for a code that is both, such as `ca`. */
function countryOf(region: string): string | undefined {
  const country = otherRegions.get(region) ?? countryCode(region);
  if (!states.has(region)) return country;
  return country === undefined ? 'US' : undefined;
}
