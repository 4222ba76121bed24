import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The root folder of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced code block of a page. */
export interface Block {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** The file whose content the block shows, which is the second word after the opening fence. */
  readonly file: string | undefined;
  /** The reason in a comment `<!-- not run: reason -->` directly above the block. */
  readonly notRun: string | undefined;
  readonly lines: readonly string[];
}

/** A page of the documentation. */
export interface Page {
  /** The path in the repository. */
  readonly path: string;
  readonly text: string;
  /** The text and the code blocks, in their order on the page. */
  readonly parts: readonly (readonly string[] | Block)[];
}

/** Reads README.md, CONTRIBUTING.md and the pages in docs. */
export async function readPages(): Promise<Page[]> {
  const docs = (await readdir(`${root}docs`)).filter((name) => name.endsWith('.md')).sort();
  const paths = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
  return Promise.all(paths.map(async (path) => parsePage(path, await readFile(root + path, 'utf8'))));
}

export function isBlock(part: readonly string[] | Block): part is Block {
  return !Array.isArray(part);
}

export function blocksOf({ parts }: Page): Block[] {
  return parts.filter(isBlock);
}

/** Returns the text of a page without its code blocks, or only the text before one of them. */
export function proseOf({ parts }: Page, before?: Block): string {
  const end = before === undefined ? parts.length : parts.indexOf(before);
  return parts
    .slice(0, end)
    .flatMap((part) => (isBlock(part) ? [] : part))
    .join('\n');
}

export function parsePage(path: string, text: string): Page {
  const lines = text.split('\n');
  const parts: (string[] | Block)[] = [[]];
  for (let index = 0; index < lines.length; index++) {
    const [, language = '', file] = /^```(\S+) ?(\S+)?$/.exec(lines[index] ?? '') ?? [];
    const prose = parts.at(-1) as string[];
    prose.push(lines[index] ?? '');
    if (language === '') continue;
    const end = lines.indexOf('```', index);
    parts.push({ line: index + 1, language, file, notRun: reasonOf(prose), lines: lines.slice(index + 1, end) }, []);
    index = end - 1;
  }
  return { path, text, parts };
}

/** Returns the reason that the last line before a fence contains. */
function reasonOf(prose: readonly string[]): string | undefined {
  return /^<!-- not run: (.+) -->$/.exec(prose.at(-2) ?? '')?.[1];
}
