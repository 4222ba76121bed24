import type { ComponentChildren } from 'preact';

interface PanelProps {
  readonly title: string;
  /** Stands beside the title, dimmed. */
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}

/** A titled part of a page. */
export function Panel({ title, note, children }: PanelProps) {
  return (
    <section class="panel">
      <h2>
        {title}
        {note !== undefined && <small>{note}</small>}
      </h2>
      {children}
    </section>
  );
}

/** The place of something that is not there yet: says what to do next. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
