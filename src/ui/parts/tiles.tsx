/** A figure that is shown large, with its label. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly note?: string | undefined;
}

/** A row of figures that are shown large. */
export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }) {
  return (
    <dl class="tiles">
      {tiles.map(({ label, value, note }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value} {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
