// Updates the region codes of places from a newer GeoNames list, whose codes have names.

/** Maximum distance in degrees at which two places with the same name and country are considered the same place. */
const samePlace = 0.2;

/**
 * Minimum share of a region's places that still have its code in the newer list. From this share on, places that are missing in
 * that list keep the code, too.
 */
const stableShare = 0.9;

/** Minimum number of places in a region that must be compared. Fewer places are not enough evidence. */
const leastCompared = 3;

/**
 * Gives places the region codes of the newer list. A place that is in the list gets its code from there. Any other place keeps
 * its old code if that code still applies to its region, otherwise it gets the code of the nearest place. `scale`: number of
 * units in a degree in `places`. `newer`: places with name, country, lat, lng, admin1, admin2.
 */
export function updateRegions(places, newer, scale) {
  const byName = groupsBy(newer, ({ country, name }) => `${country} ${name}`);
  const same = places.map((place) => nearestOf(place, byName.get(`${place.country} ${place.name}`) ?? [], scale, samePlace));
  const isStable = stableCodes(places, same);
  const byCountry = groupsBy(newer, ({ country }) => country);
  for (const [index, place] of places.entries()) {
    const found = same[index] ?? (isStable(codeOf(place)) ? undefined : nearestOf(place, byCountry.get(place.country) ?? [], scale, 360));
    if (!found) continue;
    place.region = found.admin1;
    if (same[index]) place.district = found.admin2;
  }
}

/** Throws if most places with the same region code have another code in the newer list. */
export function checkRegions(places, newer, scale) {
  const byName = groupsBy(newer, ({ country, name }) => `${country} ${name}`);
  const counts = new Map();
  for (const place of places) {
    const found = nearestOf(place, byName.get(`${place.country} ${place.name}`) ?? [], scale, samePlace);
    if (found) count(counts, codeOf(place), found.admin1 === place.region);
  }
  const wrong = [...counts].filter(([, [kept, all]]) => all >= leastCompared && 2 * kept < all).map(([code]) => code);
  if (wrong.length > 0) throw new Error(`most places of these regions have another one in the newer list: ${wrong.join(', ')}`);
}

/** Returns the countries that have regions without a name, with the number of places in such regions. */
export function unnamedRegions(places, names) {
  const counts = new Map();
  for (const place of places) if (!names.has(codeOf(place))) counts.set(place.country, (counts.get(place.country) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([country, places]) => `${country} ${places}`);
}

function codeOf({ country, region }) {
  return `${country}.${region}`;
}

/** Returns a function that is true for a region code that nearly all of its places also have in the newer list. */
function stableCodes(places, same) {
  const counts = new Map();
  for (const [index, place] of places.entries()) if (same[index]) count(counts, codeOf(place), same[index].admin1 === place.region);
  return (code) => {
    const [kept, all] = counts.get(code) ?? [0, 0];
    return all >= leastCompared && kept >= stableShare * all;
  };
}

function count(counts, code, isKept) {
  const [kept, all] = counts.get(code) ?? [0, 0];
  counts.set(code, [kept + (isKept ? 1 : 0), all + 1]);
}

function groupsBy(list, keyOf) {
  const groups = new Map();
  for (const entry of list) {
    const key = keyOf(entry);
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  return groups;
}

/** Returns the nearest place from the newer list within a maximum distance in degrees. */
function nearestOf({ lat, lon }, places, scale, farthest) {
  let [best, least] = [undefined, farthest];
  for (const place of places) {
    const north = Number(place.lat) - lat / scale;
    if (Math.abs(north) >= least) continue;
    const distance = Math.hypot(north, (Number(place.lng) - lon / scale) * Math.cos((lat / scale / 180) * Math.PI));
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}
