import { parseHttpUrl } from '../../delivery/backends/http-url.ts'
import type { Plain } from './plain.ts'
import { quote, type Reading, refuse } from './reading.ts'

export interface Endpoint {
  /** The URL without credentials. */
  readonly url: string
  /** The URL's credentials, as a header. */
  readonly authorization?: string
  /** A likely mistake in the URL. */
  readonly doubt?: string
}

const EXPECTED = 'an http:// or https:// URL'

/** Reads a URL, and moves its credentials to a header. Otherwise they would end up in logs and error messages. */
export function readEndpoint(value: Plain): Reading<Endpoint> {
  const text = typeof value === 'string' ? value.trim() : undefined
  if (text === undefined) return refuse(value, EXPECTED)
  const url = parseHttpUrl(text)
  if (!url) return { reason: `expected ${EXPECTED}, got ${shownEndpoint(text)}` }
  const doubt = url.port === '4317' ? 'port 4317 is usually gRPC; OTLP over HTTP is usually on port 4318' : undefined
  const authorization = basicAuthorization(url)
  url.username = ''
  url.password = ''
  return {
    value: {
      url: authorization === undefined ? text : url.href,
      ...(authorization === undefined ? {} : { authorization }),
      ...(doubt === undefined ? {} : { doubt }),
    },
  }
}

function basicAuthorization(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined
  const credentials = `${decodePercent(url.username)}:${decodePercent(url.password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// Only the most common mistake and the scheme are shown as they are. Any other text may be a misplaced secret.
function shownEndpoint(text: string): string {
  if (/^[a-z0-9.-]{1,60}:\d{2,5}(\/[a-z0-9/_.-]{0,40})?$/i.test(text)) return quote(text)
  const scheme = /^(?:[a-z]{2,10}:\/{1,2}|https?\/\/)/i.exec(text)?.[0]
  if (scheme === undefined) return 'other text'
  return /^https?:\/\//i.test(scheme) ? 'one whose host or port is invalid' : `text that begins with ${quote(scheme)}`
}
