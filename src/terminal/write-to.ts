import type { Writable } from 'node:stream'

/**
 * Writes to the standard output or error of the host. Who reads it may have gone, as `head` goes: then Node raises an error for which
 * nobody listens, and which ends the process. What the host writes there itself fails as ever.
 */
export function writeTo(stream: Writable, text: string): void {
  if (!stream.listeners('error').includes(passOver)) {
    stream.on('error', passOver)
    // Both are written to at once, so it is raised before that.
    setImmediate(() => stream.off('error', passOver))
  }
  stream.write(text)
}

function passOver(): void {
  // There is nobody left to tell.
}
