import { bookPath } from '../../app/ports/run-ledger.ts';
import { type Book, openBook } from '../../io/ledger/book.ts';

/** Reads or changes the ledger of a home folder. */
export function withBook<Result>(home: string, act: (book: Book) => Result): Result {
  const book = openBook(bookPath(home));
  try {
    return act(book);
  } finally {
    book.close();
  }
}
