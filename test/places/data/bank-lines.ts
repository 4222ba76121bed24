/** Brands with their Wikidata ids, and the country whose statements contain them. */
const brands: readonly (readonly [name: string, id: string, country: keyof typeof towns])[] = [
  ["McDonald's", 'Q38076', 'US'],
  ['Starbucks', 'Q37158', 'US'],
  ['Walgreens', 'Q1591889', 'US'],
  ['Target', 'Q1046951', 'US'],
  ['Chipotle', 'Q465751', 'US'],
  ['Taco Bell', 'Q752941', 'US'],
  ['Home Depot', 'Q864407', 'US'],
  ["Lowe's", 'Q1373493', 'US'],
  ['Best Buy', 'Q533415', 'US'],
  ['Kroger', 'Q153417', 'US'],
  ['Panera Bread', 'Q7130852', 'US'],
  ["Wendy's", 'Q550258', 'US'],
  ['Dollar General', 'Q145168', 'US'],
  ['Whole Foods', 'Q1809448', 'US'],
  ["Trader Joe's", 'Q688825', 'US'],
  ['Chevron', 'Q319642', 'US'],
  ['Shell', 'Q110716465', 'US'],
  ['IHOP', 'Q1185675', 'US'],
  ['Blue Bottle Coffee', 'Q4928917', 'US'],
  ['Petco', 'Q7171798', 'US'],
  ['Tesco', 'Q487494', 'GB'],
  ["Sainsbury's", 'Q152096', 'GB'],
  ['Greggs', 'Q3403981', 'GB'],
  ['Boots', 'Q6123139', 'GB'],
  ['Costa', 'Q608845', 'GB'],
  ['Rewe', 'Q16968817', 'DE'],
  ['Lidl', 'Q151954', 'DE'],
  ['Kaufland', 'Q685967', 'DE'],
  ['Rossmann', 'Q316004', 'DE'],
  ['Edeka', 'Q701755', 'DE'],
  ['Aral', 'Q565734', 'DE'],
  ['Carrefour', 'Q217599', 'FR'],
  ['Monoprix', 'Q3321241', 'FR'],
  ['Decathlon', 'Q509349', 'FR'],
  ['Auchan', 'Q758603', 'FR'],
  ['Albert Heijn', 'Q1653985', 'NL'],
  ['HEMA', 'Q903805', 'NL'],
  ['Praxis', 'Q2741995', 'NL'],
  ['Mercadona', 'Q377705', 'ES'],
  ['Zara', 'Q147662', 'ES'],
];

const towns = {
  US: [
    'CHICAGO IL',
    'TAMPA FL',
    'OAKLAND CA',
    'PLANO TX',
    'SAN FRANCISCO CA',
    'CEDAR RAPIDS IA',
    'BOISE ID',
    'ST LOUIS MO',
    'ALBANY NY',
    'RENO NV',
  ],
  GB: ['LONDON GB', 'LEEDS GB', 'MANCHESTER GB', 'BRISTOL GBR', 'CARDIFF GB'],
  DE: ['BERLIN DE', 'HAMBURG DE', 'KOELN DE', 'MUENCHEN DEU', 'DRESDEN DE', 'FREIBURG DE'],
  FR: ['PARIS FR', 'LYON FR', 'NANTES FR', 'TOULOUSE FRA', 'LILLE FR'],
  NL: ['AMSTERDAM NL', 'UTRECHT NL', 'ROTTERDAM NLD', 'GRONINGEN NL'],
  ES: ['MADRID ES', 'VALENCIA ES', 'SEVILLA ESP', 'BILBAO ES'],
};

/** Formats of card statement lines. B: brand in capitals, T: town, P: town with state or country, N and R: numbers, D: date. */
const formats: Readonly<Record<'US' | 'EU', readonly string[]>> = {
  US: [
    'B N P',
    'B #N P',
    'B F#R P',
    'B STORE N P',
    'SQ *B P',
    'TST* B T',
    'PAYPAL *B',
    'POS PURCHASE B N P',
    'POS DEBIT B',
    'CHECKCARD 0412 B N P',
    'DEBIT CARD PURCHASE D B N P',
    'CARD R B P',
    'B P 04/12',
    'B #N TOWN, ST',
    'RECURRING PAYMENT B R',
    'VISA PURCHASE D B P R',
    'SP B',
    'PURCHASE AUTHORIZED ON 04/12 B N P',
  ],
  EU: [
    'KARTENZAHLUNG B N T',
    'B SAGT DANKE N P',
    'LASTSCHRIFT B T',
    'EC B N//T/DE 12.03.2026',
    'CB B T 12/03',
    'CARTE 12/03/26 B T CB*R',
    'ACHAT CB B D',
    'PAIEMENT PAR CARTE B N T',
    'BETAALAUTOMAAT B N T',
    'BEA, Betaalpas B N,PAS123',
    'COMPRA TARJETA R B T',
    'CARD PAYMENT TO B ON 12 MAR',
    'B N P',
    'B T P',
    'PAGAMENTO POS 12/03 B T',
    'KARTENKAUF B P R',
  ],
};

/** Returns a generator of pseudorandom numbers that are the same on every machine. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Returns lines of bank and card statements, each with the id of its chain. */
export function bankLines(count: number, seed: number): { readonly line: string; readonly id: string }[] {
  const below = generator(seed);
  const pick = <Item>(items: readonly Item[]) => items[below(items.length)] as Item;
  return Array.from({ length: count }, () => {
    const [brand, id, country] = pick(brands);
    const place = pick(towns[country]);
    const town = place.split(' ').slice(0, -1).join(' ');
    const number = String(100 + below(99_000));
    const parts: Record<string, string> = {
      B: below(3) === 0 ? brand : brand.toUpperCase().replace(/'/g, below(2) === 0 ? "'" : ''),
      T: town,
      P: place,
      N: below(3) === 0 ? `0${number}` : number,
      R: String(1000 + below(9000)),
      D: `0${1 + below(9)}/1${below(10)}`,
      TOWN: town,
      ST: place.split(' ').at(-1) as string,
    };
    const format = pick(formats[country === 'US' || country === 'GB' ? 'US' : 'EU']);
    return { line: format.replace(/\b(?:TOWN|ST|[BTPNRD])\b(?!')/g, (name) => parts[name] ?? name), id };
  });
}
