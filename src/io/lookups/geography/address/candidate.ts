import { placeKey } from '../../../../core/lookups/place-key.ts';
import type { Country, Places, Region } from '../places.ts';
import type { Word } from './address-text.ts';
import type { Reading } from './readings.ts';

/** Something that an address can mean. */
export interface Candidate {
  readonly level: 'place' | 'region' | 'country';
  readonly place: number;
  /** The name of a region or country; undefined for a place, whose name the data have. */
  readonly name: string | undefined;
  /** The region; undefined for a country. */
  readonly region: Region | undefined;
  readonly country: Country;
  /** Inhabitants; 0 if not known. */
  readonly population: number;
  /** Decides between candidates: the inhabitants, reduced for a place under another name than its own. */
  readonly weight: number;
  readonly reading: Reading;
  /** The words that name the place; empty for a region or country. */
  readonly hit: readonly Word[];
  /** The words that reading and candidate explain. */
  readonly words: number;
  readonly score: number;
  /** True if the place is written with mistakes. */
  readonly isNear: boolean;
  /** The extent to which it fits the postcodes: see `postcodeFit`. */
  readonly fit: 0 | 1 | 2;
  /** Words that nothing explains, before and after the name of the place. */
  readonly before: readonly Word[];
  readonly after: readonly Word[];
  /** True if something speaks against the place, too: the answer is ambiguous. */
  readonly isDoubtful: boolean;
}

/** Share of its inhabitants with which a place counts under another name than its own. */
const otherNameWeight = 0.1;

/** A place that words of an address name. */
export interface Hit {
  readonly place: number;
  /** False if the place is known by this name in another language or spelling. */
  readonly isOwnName: boolean;
  readonly words: readonly Word[];
  /** True if no other words stand beside the name between commas. */
  readonly isWhole: boolean;
  /** True if the name is written with mistakes. */
  readonly isNear?: boolean;
}

/** The scores of a place, by the kind of its name. */
const scores = { own: 1, other: 0.9, part: 0.9, near: 0.6 };

/** The evidence for a place and against it. */
export type Judgement = Pick<Candidate, 'fit' | 'before' | 'after' | 'isDoubtful'>;

/** The score of a place by the kind of its name. */
export function nameScore({ isOwnName, isWhole, isNear = false }: Hit): number {
  return (isOwnName ? scores.own : scores.other) * (isWhole ? 1 : scores.part) * (isNear ? scores.near : 1);
}

/** The candidate of a place. */
export function placeCandidate(places: Places, hit: Hit, reading: Reading, judgement: Judgement & { readonly score: number }): Candidate {
  const { place, isOwnName, words, isNear = false } = hit;
  const { fit, before, after, isDoubtful, score } = judgement;
  const region = places.region(place);
  const population = places.population(place);
  return {
    level: 'place',
    place,
    name: undefined,
    region,
    country: region.country,
    population,
    weight: population * (isOwnName ? 1 : otherNameWeight),
    reading,
    hit: words,
    words: reading.used + words.length,
    score,
    isNear,
    fit,
    before,
    after,
    isDoubtful,
  };
}

/** Share of an area's inhabitants from which on its seat of government counts as the whole area, if both have one name. */
const wholeShare = 0.8;

/**
 * The candidate of the region or country that an address names and nothing else; undefined if it names none. It lies at its seat of
 * government. If the seat is all of it, as in Bogotá D.C., it is the town.
 */
export function areaCandidate(reading: Reading, places: Places): Candidate | undefined {
  const area = reading.region ?? reading.country;
  if (!area) return undefined;
  const { seat: place, population } = area;
  const town = places.name(place);
  const name = area.name ?? area.code;
  const isTown = places.population(place) >= wholeShare * population && placeKey(name).includes(placeKey(town));
  return {
    level: isTown ? 'place' : reading.region ? 'region' : 'country',
    place,
    name: isTown ? undefined : name,
    region: isTown ? places.region(place) : reading.region,
    country: reading.region?.country ?? (reading.country as Country),
    population: isTown ? places.population(place) : population,
    weight: population,
    reading,
    hit: [],
    words: reading.used,
    score: 1,
    isNear: false,
    fit: 0,
    before: [],
    after: [],
    isDoubtful: false,
  };
}
