import { accessSync, constants, readdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shellWord } from '../../core/text/quoted-word.ts';
import { orUndefined } from '../../core/value/value.ts';
import { homeFolder } from '../../files/home.ts';
import { statOf } from '../../files/stat.ts';
import { type DoctorFinding, okFinding, problemFinding, warningFinding } from './finding.ts';

const leastNode = [20, 18] as const;

export function nodeFinding(version: string): DoctorFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
  // These versions have no zlib.crc32, which Node 20 and 22 got later.
  const isBetween = major === 21 || (major === 22 && minor < 2);
  const least = isBetween ? '22.2' : leastNode.join('.');
  return isNew && !isBetween
    ? okFinding('node', `Node.js ${version}`)
    : problemFinding('node', `Node.js ${version} is too old`, `install Node.js ${least} or later`);
}

export function homeFindings(): DoctorFinding[] {
  const home = homeFolder(process.env);
  const place = placeAt(home);
  const word = shellWord(home);
  if (place.exists && !place.isFolder)
    return [problemFinding('home', `${home} is not a folder`, 'move it away, or set AUTOMATE_HOME to a folder')];
  if (!place.isWritable) {
    const what = place.exists ? 'cannot be written' : 'cannot be created';
    return [problemFinding('home', `${home} ${what}`, 'make it writable for you, or set AUTOMATE_HOME to another folder')];
  }
  if (!place.exists) return [okFinding('home', `${home} does not exist yet; it is created when it is needed`)];
  if (place.othersMay & 2) return [problemFinding('home', `other users can change files in ${home}`, `chmod 700 ${word}`)];
  if (place.othersMay !== 0) return [warningFinding('home', `other users can list the files in ${home}`, `chmod 700 ${word}`)];
  const { exposed } = place;
  if (exposed.length > 0) {
    return [warningFinding('home', `other users have access to files in ${home}: ${exposed.join(', ')}`, `chmod -R go= ${word}`)];
  }
  return [okFinding('home', `only you have access to ${home}`)];
}

const leastTime = Date.UTC(2026, 0, 1);
const lastTime = Date.UTC(2100, 0, 1);
const toleranceMs = 3_600_000;

/** Expiry dates, certificates and monthly credits depend on the clock. */
export function clockFinding(nowMs: number, newestMs = placeAt(homeFolder(process.env)).newestMs): DoctorFinding {
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const advice = 'set the clock: certificates, expiries and credits depend on it';
  if (nowMs < leastTime || nowMs > lastTime) return problemFinding('clock', `the clock says ${time}`, advice);
  if (newestMs !== undefined && newestMs > nowMs + toleranceMs) {
    return warningFinding('clock', `the clock says ${time}, but a file in the home folder is newer`, advice);
  }
  return okFinding('clock', time);
}

const leastBytes = { problem: 10e6, warning: 200e6 };

export function diskFindings(): DoctorFinding[] {
  const places = [
    ['disk of the home folder', homeFolder(process.env)],
    ['disk of this folder', process.cwd()],
  ] as const;
  return places.map(([check, path]) => diskFinding(check, freeBytes(path)));
}

/** Returns the finding for the free disk space of one folder. `free` is in bytes; undefined if it is not known. @internal */
export function diskFinding(check: string, free: number | undefined): DoctorFinding {
  if (free === undefined) return okFinding(check, 'the amount of free space is not known');
  const message = `${free >= 1e9 ? `${Math.floor(free / 1e9)} GB` : `${Math.floor(free / 1e6)} MB`} free`;
  const advice = 'free some space: outputs and checkpoints are written there';
  if (free < leastBytes.problem) return problemFinding(check, message, advice);
  return free < leastBytes.warning ? warningFinding(check, message, advice) : okFinding(check, message);
}

function placeAt(path: string) {
  const found = statOf(path);
  const isFolder = found?.isDirectory() ?? false;
  const names = isFolder ? (orUndefined(() => readdirSync(path)) ?? []) : [];
  const files = names.flatMap((name) => {
    const stat = statOf(join(path, name));
    return stat?.isFile() ? [{ name, stat }] : [];
  });
  return {
    exists: found !== undefined,
    isFolder,
    /** True if files can be created in the folder, or, if it does not exist, in its nearest existing parent. */
    isWritable: isWritable(found ? path : nearestFolder(path)),
    othersMay: found ? othersMay(found.mode) : 0,
    exposed: files.filter(({ stat }) => othersMay(stat.mode) !== 0).map(({ name }) => name),
    /** The last change of a file, in ms since 1970. */
    newestMs: files.length === 0 ? undefined : Math.max(...files.map(({ stat }) => stat.mtimeMs)),
  };
}

/** Undefined if the platform does not report it. */
function freeBytes(path: string): number | undefined {
  const found = orUndefined(() => statfsSync(nearestFolder(path)));
  return found && found.bavail * found.bsize;
}

/** The permission bits of the group or other users. They are 0 on Windows, which has no such bits. */
function othersMay(mode: number): number {
  return process.platform === 'win32' ? 0 : ((mode >> 3) | mode) & 0o7;
}

function isWritable(path: string): boolean {
  return orUndefined(() => accessSync(path, constants.W_OK | constants.X_OK) ?? true) ?? false;
}

function nearestFolder(path: string): string {
  return statOf(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
