import { type Book, openBook } from '../../credits/book.ts';
import { bookPath } from '../../credits/prices.ts';

/** Opens the ledger of a home folder and runs `act` with it. */
export function withBook<Result>(home: string, act: (book: Book) => Result): Result {
  const book = openBook(bookPath(home));
  try {
    return act(book);
  } finally {
    book.close();
  }
}
