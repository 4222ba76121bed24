import type { ComponentChildren } from 'preact';

interface PanelProps {
  readonly title: string;
  /** A note in a dimmed color next to the title. */
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}

/** A titled section of a page. */
export function Panel({ title, note, children }: PanelProps) {
  return (
    <section class="panel">
      <h2>
        {title}
        {note !== undefined && (
          <>
            {' '}
            <small>{note}</small>
          </>
        )}
      </h2>
      {children}
    </section>
  );
}

/** Text for a panel that has nothing to show yet. It says what the user can do next. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
