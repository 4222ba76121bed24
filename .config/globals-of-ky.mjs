// ky makes two Requests for every call. The fetch that we give it looks at neither, so in the bundle they cost next to nothing.
// What ky itself reads of them is here; the tests of the sources run with the real ones.
export class RequestOfKy {
  constructor(input, options) {
    this.url = String(input);
    this.method = options.method;
    this.headers = options.headers ?? new Headers();
    this.signal = options.signal;
    this.body = null;
  }

  clone() {
    return this;
  }
}

// The controller is for ky's own timeout, which is off: the deadline is the transport's.
export class AbortControllerOfKy {
  signal = { aborted: false };
}
