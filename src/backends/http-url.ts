/** Undefined for what is no http or https URL. */
export function parseHttpUrl(text: string): URL | undefined {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
}

/** A URL as it may be shown: credentials and query, where keys are put, are left out. Undefined: it is no such URL. */
export function shownUrl(text: string): string | undefined {
  const url = parseHttpUrl(text)
  return url && `${url.origin}${url.pathname === '/' ? '' : url.pathname}`
}
