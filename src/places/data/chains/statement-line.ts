import { countryCode } from '../../country-names.ts';
import { foldedText, wordSet } from '../folded-text.ts';
import { companyEnds } from './company-words.ts';

/** Words in several languages before the name of a business on bank and card statements. They are in lower case without accents. */
const paymentWords = wordSet(
  `pos purchase purchases debit debits card visa mastercard maestro amex checkcard checkcrd check crd authorized recurring payment pmt
  preauthorized withdrawal ach contactless signature pin eftpos interac pur dbt retail transaction trans pymt sq tst paypal pp sumup
  zettle iz sp applepay googlepay apple google pay klarna stripe bancontact idp dda dc kartenzahlung girocard ec lastschrift sepa
  basislastschrift kartenkauf zahlung debitk kreditkarte kartenumsatz bezahlung elv cb carte achat paiement prlv prelevement facture
  facturette betaalautomaat betaling bea pinbetaling betaalpas ideal incasso pintransactie compra tarjeta pago cargo recibo tarj tpv
  pagamento acquisto carta addebito operazione cartao debito credito platnosc karta karty zakup przy uzyciu kortkop kop dankort nota kob
  kortbetaling varekjop kortkjop platba kartou nakup kartyas vasarlas korttiosto osto plata cumparare cardul harcama alisveris pagato
  paid`,
);

/** Words that may come between a word for a payment and the name of the business. */
const joiningWords = wordSet('at to on from par du a la le en con de del bei via mit przy w hos i by of nr no ref cu til');

/** Matches words that thank the customer, as in `REWE SAGT DANKE`. */
const thanks = /\b(?:sagt danke|dankt|vielen dank|danke|merci|thank you)\b/g;

const states = wordSet(
  `al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt
  va wa wv wi wy dc pr`,
);

/** Country codes by other names, and by Canadian and Australian abbreviations, except abbreviations that are also a country's code. */
const otherRegions: ReadonlyMap<string, string> = new Map(
  [
    'CA ab bc mb nb nl on qc sk ns can canada, AU nsw vic qld tas act nt aus australia, US usa, GB gbr uk england scotland wales',
    'DE deu germany deutschland, FR fra france, ES esp spain espana, IT ita italy italia, NL nld netherlands nederland',
    'BE bel belgium belgie belgique, AT aut austria osterreich, CH che switzerland schweiz suisse, PL pol poland polska',
    'IE irl ireland, SE swe sweden sverige, NO nor norway norge, DK dnk denmark danmark, FI fin finland suomi, PT prt portugal',
    'CZ cze',
  ]
    .flatMap((line) => line.split(', '))
    .map((country) => country.split(' ') as [string, ...string[]])
    .flatMap(([code, ...names]) => names.map((name) => [name, code])),
);

/** Matches dates, times, phone numbers and masked card numbers. They do not help to identify a business. */
const noise =
  /\b\d{4}-\d\d?-\d\d?(?:t[\d:]+)?\b|\b\d\d?[./-]\d\d?(?:[./-]\d{2,4})?\b\.?|\b\d\d?:\d\d(?::\d\d)?\b|\b\d{3}-\d{3}-\d{4}\b|\b\d{1,2} ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b(?: \d{2,4}\b)?|\b[x*]{2,}\d+|\bcb\*\d+|\b(?:pas|karte|card no|kartennr|tarj|tarjeta|carta|karta|kort)\.? ?[:*x]*\d+|(?<=\w)\.(?:com?(?:\.[a-z]{2})?|net|org|de|fr|es|it|nl|at|ch|pl|eu)\b(?!\.)/g;

/** Matches the code of a payment service before the name of the business, such as `SQ *`. */
const serviceMark = /^[a-z]{2,7}\s?\*\s*/;

/** A number that could be that of a store: at least three digits, or two after letters or `#`. */
const storeNumber = /^(?:[a-z#]{1,2}\d{2,}|\d{3,})[a-z]?$/;

/** Surely the number of a store: at least four digits, or two after letters or `#`. Unknown words after it may be a town. */
const sureNumber = /^(?:[a-z#]{1,2}\d{2,}|\d{4,})[a-z]?$/;

const longestTown = 3;

/** This quick check excludes most names of businesses. */
export function isStatementLike(text: string): boolean {
  if (/[\d*]/.test(text)) return true;
  const lower = text.toLowerCase();
  const isRegionLast = isRegion(lower.slice(lower.lastIndexOf(' ') + 1));
  return isRegionLast || paymentWords.has(lower.slice(0, Math.max(0, lower.indexOf(' ')))) || lower.includes('dank');
}

interface StatementName {
  readonly text: string;
  /** True if the part may be the name of a town instead, as in `COLUMBIA MD`. Only a state or country, if anything, follows the part. */
  readonly mayBeTown: boolean;
  /** The country code for the end of the line; undefined if there is none, or if the code stands for both a state and a country. */
  readonly country: string | undefined;
}

/** A bank or card statement line. Words for the payment, dates and similar parts have been removed from `words`. */
interface Line {
  readonly words: readonly string[];
  readonly isPayment: boolean;
  /** True if words for a payment, a date, or similar parts were removed from the line. */
  readonly isShortened: boolean;
  /** The state or country at the end of the line; undefined if the line has none. */
  readonly region: string | undefined;
  /** True if the whole line is in capital letters, as on most statements. */
  readonly isCapital: boolean;
}

/** The likeliest part comes first. Empty if the text does not look like a statement line. */
export function statementNames(text: string, isTown: IsTown): StatementName[] {
  const line = statementLineOf(text);
  const { words, region } = line;
  const country = region === undefined ? undefined : countryOf(region);
  const names = new Map<string, StatementName>();
  for (const { count, mayBeTown = false } of nameEnds(line, isTown)) {
    const name = words.slice(0, count).join(' ');
    if (count > 0 && !names.has(name)) names.set(name, { text: name.replace(/#/g, ''), mayBeTown, country });
  }
  return [...names.values()];
}

type IsTown = (words: readonly string[]) => boolean;

interface NameEnd {
  readonly count: number;
  readonly mayBeTown?: boolean;
}

/** The ends that the name of the business may have in a line, the likeliest first. */
function nameEnds(line: Line, isTown: IsTown): NameEnd[] {
  const { words, isPayment, isShortened, region } = line;
  const townEnds = (part: readonly string[]) => townStarts(part, isTown).map((count) => ({ count }));
  const companyEnd = { count: words.findIndex((word, index) => index > 0 && companyEnds.has(word)) };
  const numberAt = words.findIndex((word, index) => index > 0 && storeNumber.test(word));
  if (numberAt > 0) {
    const rest = words.slice(numberAt + 1);
    return [
      ...(isPlace(rest, line, words[numberAt] as string, isTown) ? [{ count: numberAt, mayBeTown: rest.length === 0 && !isPayment }] : []),
      companyEnd,
      ...(isPayment ? [{ count: numberAt }] : []),
      // As in `KAUFLAND BERLIN 1234` and `REMA 1000 OSLO`.
      ...(line.isCapital ? [...townEnds(words.slice(0, numberAt)), ...townEnds(words)] : []),
    ];
  }
  if (!isShortened && region === undefined) return [companyEnd];
  const isLocated = isPayment || region !== undefined;
  return [companyEnd, { count: words.length, mayBeTown: !isPayment }, ...(isLocated ? townEnds(words) : [])];
}

/** The number of words before each possible town. If a town is written twice, only the words before the first mention count. */
function townStarts(words: readonly string[], isTown: IsTown): number[] {
  const counts: number[] = [];
  for (let count = 1; count <= longestTown && count < words.length; count++) {
    if (!isTown(words.slice(-count))) continue;
    const before = words.slice(0, -count);
    const isTwice = before.slice(-count).join(' ') === words.slice(-count).join(' ');
    counts.push(isTwice ? before.length - count : before.length);
  }
  return counts.sort((one, other) => one - other);
}

/** Returns true if the words after a store number may be the name of a town. */
function isPlace(words: readonly string[], { region, isCapital }: Line, number: string, isTown: IsTown): boolean {
  const rest = words.filter((word) => !/\d/.test(word));
  if (rest.length === 0 || isTown(rest)) return true;
  if (rest.length > longestTown) return false;
  // After a number that is certainly a store number, the town may be unknown, because the data does not contain small towns and shortened
  // names.
  if (sureNumber.test(number) && !year.test(number) && (region !== undefined || isCapital)) return true;
  return region !== undefined && (isTown(rest.slice(-1)) || isTown(rest.slice(-2)));
}

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

const afterNumber = new Set(['nr', 'no', 'ref']);

function paymentEnd(words: readonly string[]): number {
  let end = 0;
  for (const [index, word] of words.entries()) {
    const isPayment = paymentWords.has(word);
    if (
      !isPayment &&
      !(
        end > 0 &&
        (joiningWords.has(word) || /^[#x]?\d{2,}$/.test(word) || (afterNumber.has(words[index - 1] as string) && /\d/.test(word)))
      )
    )
      break;
    if (isPayment || /\d/.test(word) || end > 0) end = index + 1;
  }
  return end < words.length ? end : 0;
}

/** `at` is the number of words before the state or country. Numbers after it are ignored. */
function endOf(words: readonly string[], start: number): { readonly at: number; readonly region: string | undefined } {
  let at = words.length;
  while (at > start + 2 && /^\d{3,}$/.test(words[at - 1] as string) && !isNumberOfStore(words, at - 1)) at--;
  const last = at;
  while (at > start + 1 && isRegion(words[at - 1] as string)) at--;
  return { at, region: at < last ? words[last - 1] : undefined };
}

/** False for a number after a state, a country or another number. */
function isNumberOfStore(words: readonly string[], at: number): boolean {
  const before = words[at - 1] as string;
  return !isRegion(before) && !/^\d+$/.test(before);
}

function isRegion(word: string): boolean {
  return states.has(word) || otherRegions.has(word) || (word.length === 2 && countryCode(word) !== undefined);
}

/** Returns the country code of a state or country; undefined for a code that stands for both, such as `ca` (California and Canada). */
function countryOf(region: string): string | undefined {
  const country = otherRegions.get(region) ?? countryCode(region);
  if (!states.has(region)) return country;
  return country === undefined ? 'US' : undefined;
}
