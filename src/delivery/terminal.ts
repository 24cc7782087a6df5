import type { Writable } from 'node:stream'

/**
 * Writes to the standard output or error of the host. If the reader has gone (as `head` does), Node emits an error, which would
 * end the process for lack of a listener. The host's own writes to the stream fail as usual. Writes to these streams are
 * synchronous, so the error is emitted before the listener is removed.
 */
export function writeTo(stream: Writable, text: string): void {
  if (!stream.listeners('error').includes(passOver)) {
    stream.on('error', passOver)
    setImmediate(() => stream.off('error', passOver))
  }
  stream.write(text)
}

function passOver(): void {
  // The output has no reader any more.
}
