import { describe, expect, test } from 'vitest';
import { distanceMetres, readCoordinates } from '../../src/places/coordinates.ts';
import { placeKey } from '../../src/places/country-names.ts';

describe('a pair of coordinates', () => {
  test.each([
    ['52.52', '13.405', 52.52, 13.405],
    [' -90 ', '+180', -90, 180],
    ['.5', '1e1', 0.5, 10],
    ['0', '-0.0', 0, -0],
  ])('is parsed if both are valid: latitude %j, longitude %j', (lat, lon, latValue, lonValue) => {
    expect(readCoordinates(lat, lon)).toEqual({ lat: latValue, lon: lonValue });
  });

  test.each([
    ['90.0001', '0', 'expected a latitude from -90 to 90 in decimal degrees, found "90.0001"'],
    ['0', '-180.5', 'expected a longitude from -180 to 180 in decimal degrees, found "-180.5"'],
    ['52,52', '13', 'expected a latitude from -90 to 90 in decimal degrees, with a point and not a comma, found "52,52"'],
    ['', '13', 'expected a latitude from -90 to 90 in decimal degrees, found ""'],
    ['1', 'NaN', 'expected a longitude from -180 to 180 in decimal degrees, found "NaN"'],
    ['1', 'Infinity', 'expected a longitude from -180 to 180 in decimal degrees, found "Infinity"'],
    ['0x10', '0', 'expected a latitude from -90 to 90 in decimal degrees, found "0x10"'],
    ['52° 31′ N', '0', 'expected a latitude from -90 to 90 in decimal degrees, found "52° 31′ N"'],
    ['1'.repeat(99), '0', `expected a latitude from -90 to 90 in decimal degrees, found "${'1'.repeat(40)}…"`],
  ])('is refused if a coordinate is out of range or malformed: latitude %j, longitude %j', (lat, lon, message) => {
    expect(() => readCoordinates(lat, lon)).toThrow(expect.objectContaining({ kind: 'request', sent: false, message }));
  });
});

describe('a distance with a unit', () => {
  test.each([
    ['250m', 250],
    ['5km', 5000],
    ['2mi', 3219],
    ['1.5 km', 1500],
    ['0.5m', 1],
  ])('is converted to metres: %s is %d m', (text, metres) => {
    expect(distanceMetres(text)).toBe(metres);
  });

  test.each(['5', 'km', '-5km', '5 miles', '1,5km', ''])('is refused if it is %j', (text) => {
    expect(() => distanceMetres(text)).toThrow(`expected a distance such as 250m, 5km or 2mi, found ${JSON.stringify(text)}`);
  });
});

describe('the lookup key made from a place name', () => {
  test.each([
    ['São Paulo', 'sao paulo'],
    ['ST. LOUIS', 'saint louis'],
    ['Ft. Worth', 'fort worth'],
    ["O'Fallon", 'ofallon'],
    ['Baden-Baden', 'baden baden'],
    ['Łódź', 'lodz'],
    ['Straße', 'strasse'],
    ['İstanbul', 'istanbul'],
    ['Москва', 'москва'],
    ['서울', '서울'],
    ['  ', ''],
  ])('for %s is %s', (name, key) => {
    expect(placeKey(name)).toBe(key);
  });
});
