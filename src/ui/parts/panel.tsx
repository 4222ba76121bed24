import type { ComponentChildren } from 'preact';

interface PanelProps {
  readonly title: string;
  /** A dimmed note beside the title. */
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}

/** A panel of a page, with a title. */
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

/** The text of a panel that has nothing to show yet: it says what to do next. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
