// For every call ky makes two Requests, three Headers and an AbortController, of which the fetch that we give it looks at none.
// In the bundle they are these: that halves what ky costs, and leaves Node's own fetch unloaded.
// The tests of the sources run with the real ones.
export class HeadersOfKy {
  has() {
    return false;
  }

  *entries() {}
}

export class RequestOfKy {
  url = '';
  body = null;
  headers = new HeadersOfKy();

  clone() {
    return this;
  }
}

// For ky's own timeout, which is off: the deadline is the transport's.
export class AbortControllerOfKy {
  signal = { aborted: false };
}
