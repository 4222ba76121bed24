import { type Alias, type Document, isAlias, isPair, isScalar, type Node, type Scalar, visit } from 'yaml';

/** A YAML scalar at one of the places where it is used. */
export interface UsedScalar {
  readonly scalar: Scalar;
  /** The key as `visit` of the YAML library passes it: `key` for the name of a member. */
  readonly key: unknown;
  /** The nodes from the top of the document to the scalar, by way of the alias if there is one. */
  readonly ancestors: readonly unknown[];
  /** True if an alias stands at the place, and the scalar elsewhere in the file. */
  readonly isAlias: boolean;
}

/** Calls `take` for each scalar of a document. A scalar that aliases repeat is taken once for each of its places. */
export function visitScalars(document: Document, take: (used: UsedScalar) => void): void {
  gather(document.contents, [], false);

  function gather(root: Node | null, above: readonly unknown[], isOfAlias: boolean): void {
    visit(root, {
      Scalar: (key, scalar, ancestors) => take({ scalar, key, ancestors: [...above, ...ancestors], isAlias: isOfAlias }),
      Alias(_key, alias: Alias, ancestors) {
        const target = alias.resolve(document);
        if (target && !isAlias(target)) gather(target, [...above, ...ancestors], true);
      },
    });
  }
}

/** Returns the names of the members that lead to a value. */
export function memberNames(ancestors: readonly unknown[]): string[] {
  return ancestors.flatMap((node) => (isPair(node) ? [isScalar(node.key) ? String(node.key.value) : ''] : []));
}
