import { isContinent } from '../../../country-names.ts';
import { wordSet } from '../../folded-text.ts';

/** They also come before a name, as in `Avenue Louise`. All are in the normalized form that `placeKey` returns. */
export const wordsAfterStreet = wordSet(
  `street road rd avenue ave lane ln drive dr court ct boulevard blvd bvd way terrace tce ter place pl square sq highway hwy parkway pkwy circle
  cir close crescent cres grove row mews gardens gdns alley trail trl loop walk wharf quay plaza pike turnpike tpke freeway fwy expressway
  expy broadway arcade parade pde esplanade promenade marg nagar chowk strasse str weg platz gasse allee ring damm ufer straat laan plein
  gracht kade gata gatan vagen vag gate gt vej veg vei gade plass plads katu tie utca ut ter korut caddesi cad sokak sokagi sok bulvari
  mahallesi mah ulitsa prospekt dong gil ro`,
);

/** Words that follow the name of a building. The name of a town may also end with them, as in `Menlo Park 94025`. */
export const wordsAfterBuilding = wordSet(
  `estate house towers mall complex hotel campus market chambers apts apartments mansions villas airport station hospital university school
  park bridge tower bazaar industrial center centre court gardens grove place plaza square terrace way hill hills`,
);

export const wordsBeforeStreet = wordSet(
  `rue via calle avenida av avda rua piazza piazzale paseo corso viale vicolo strada stradela ul ulica ulice ulitsa улица ул проспект пр пл
  площадь переулок пер набережная наб шоссе вулиця вул бульвар бул jalan jl bd chemin allee impasse quai praca largo travessa carrer
  rambla camino carretera calzada cerrada aleja aleje al osiedle os quartier barrio colonia col urbanizacion urb rodovia rod alameda
  soseaua sos bulevardul bul bulevar calea intrarea namesti nam trg obala passeig passage cours esplanade faubourg route rte lorong οδος`,
);

/** Matches by its ending a single word that is a whole street, such as `Hauptstraße` or `Drottninggatan`. */
export const streetEnds =
  /.{3}(?:strasse|str|gasse|platz|weg|allee|damm|ufer|straat|laan|plein|gracht|kade|gatan|gata|vagen|vag|gade|vej|veien|vegen|gate|katu|tie|utca|steig|chaussee|ring)$/;

/** Words for a part of a building, such as `floor`. They are ignored, together with the number or letter that follows them. */
export const wordsOfUnits = wordSet(
  `apt apartment suite unit floor fl flr room rm flat bldg building blk block no nr num numero level lot tower dept department sector
  phase plot house door etage stock og eg piso dpto depto interior int loc local of oficina office shop stall bureau batiment bat hs hse
  km mile esc bajo bloque bl sc et ap кв д дом корп стр офис оф`,
);

/** Words for a part of a building that are ignored even if no number or letter follows them. */
export const certainUnits = wordSet('apt apartment suite room bldg no');

/** Words, such as `downtown`, that may be next to a town's name without changing which town is meant. */
export const plainWords = wordSet(
  `cedex greater downtown central centre center city metro metropolitan area region town village of the municipality district
  north south east west northern southern eastern western inner upper lower old new mitte innenstadt zentrum centro bay
  pusat selatan utara barat timur kota capital nord sud ost ouest est norte sur centrum keskusta zentral
  near stadt ville ciudad cidade citta comune commune gemeente kommune obec gorod г город місто м`,
);

/** Abbreviated directions that may come after the name of a street. */
export const directions = wordSet('n s e w ne nw se sw');

/** Articles and prepositions in street names, as in `Rue de Paris`. */
export const streetArticles = wordSet('of the de la le du des d del el los las di della do da dos van den der l');

/** Words that people write in a field for a town although they mean no town, or every place. Some villages have these names, too. */
const vagueNames: ReadonlySet<string> = new Set(
  `home, at home, zuhause, daheim, casa, thuis, hjemme, hemma, domicile, earth, planet earth, erde, terre, tierra, terra, world, worldwide, whole world,
  welt, weltweit, monde, mundo, mondo, moon, mond, luna, lune, mars, venus, jupiter, saturn, pluto, space, outer space, universe, galaxy,
  milky way, heaven, hell, wonderland, neverland, narnia, hogwarts, gotham, gotham city, atlantis, utopia, internet, online, web, cloud,
  cyberspace, virtual, remote, hybrid, home office, homeoffice, global, international, everywhere, anywhere, nowhere, somewhere, elsewhere,
  here, there, hier, dort, ici, partout, aqui, east coast, west coast, gulf coast, midwest, new england, pacific northwest, deep south,
  silicon valley, tri state area, bay area, scandinavia, balkans, benelux, dach, emea, apac, latam, mena, middle east, far east, office,
  work, headquarters, hq, store, warehouse, shop, branch, company, customer, countryside, beach, forest, mountains, island, desert, ocean,
  church, various, multiple, other, others, test, private, street, abroad, overseas, offshore, field, site, base, head office, main office`.split(
    /,\s+/,
  ),
);

/** True for a name that needs more than itself to be a town, such as `home`, `europe` or `bay area`. */
export function isVague(name: string): boolean {
  const key = name.startsWith('the ') ? name.slice(4) : name;
  return vagueNames.has(key) || isContinent(key) || key.split(' ').every((word) => plainWords.has(word));
}
