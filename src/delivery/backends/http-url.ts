export function parseHttpUrl(text: string): URL | undefined {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
}

/** A URL without credentials and query, which may hold keys. Returns undefined unless the text is an http or https URL. */
export function shownUrl(text: string): string | undefined {
  const url = parseHttpUrl(text)
  return url && url.origin + url.pathname
}
