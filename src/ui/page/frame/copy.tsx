import { useEffect, useState } from 'preact/hooks';

/** A button that copies text, and shows for two seconds that it has. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Select it and copy'),
    );
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  );
}

/** Text in a fixed-width font, such as a command, with a button that copies it. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: only a focused element can be scrolled with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <CopyButton text={text} />
    </div>
  );
}
