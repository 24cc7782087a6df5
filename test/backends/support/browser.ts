import { type Browser, chromium, type Page, type ViewportSize } from 'playwright-core'
import { installedPath } from './installed.ts'

/** It asks nobody but the servers of the test: neither its maker's nor those that a page would like to load things from. */
const QUIET = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

const START_MILLIS = 60_000

/**
 * A headless Chromium with a profile of its own. To be closed by who opened it.
 *
 * Without its sandbox: root and most containers have no right to make one, and it only sees pages of our own servers.
 */
export function openBrowser(): Promise<Browser> {
  const executablePath = installedPath('chromium')
  return chromium.launch({ executablePath, headless: true, chromiumSandbox: false, args: QUIET, timeout: START_MILLIS })
}

/** A page as the pictures of the documentation have it: light, and with nothing of where they are taken. */
export function pageOf(browser: Browser, viewport: ViewportSize): Promise<Page> {
  return browser.newPage({
    viewport,
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  })
}
