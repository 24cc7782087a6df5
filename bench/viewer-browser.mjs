import { chromium } from 'playwright-core'
import { findProgram } from '../scripts/backend-install/debian.mjs'

const SCREEN = { width: 1440, height: 800 }
const ZOOM_FRAMES = 180

/** Calls `measure` with a headless browser, or with undefined if this machine has none. */
export async function withBrowser(measure) {
  const executablePath = findProgram('chromium')
  if (executablePath === undefined) return measure(undefined)
  const browser = await chromium.launch({ executablePath, args: ['--disable-gpu', '--no-proxy-server'] })
  try {
    return await measure(new ViewerBrowser(browser))
  } finally {
    await browser.close()
  }
}

class ViewerBrowser {
  /** The addresses of all requests. */
  requests = []
  #browser

  constructor(browser) {
    this.#browser = browser
  }

  /** CPU time of all processes of the browser so far. */
  async cpuMillis() {
    const protocol = await this.#browser.newBrowserCDPSession()
    const { processInfo } = await protocol.send('SystemInfo.getProcessInfo')
    await protocol.detach()
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime * 1000, 0)
  }

  async openTab() {
    const context = await this.#browser.newContext({ viewport: SCREEN, locale: 'en-GB', timezoneId: 'UTC' })
    context.on('request', request => this.requests.push(request.url()))
    const page = await context.newPage()
    return {
      show: async (url, selector) => {
        await page.goto(url, { waitUntil: 'commit' })
        await page.locator(selector).first().waitFor()
      },
      zoomFrames: () => page.evaluate(zoomFrames, ZOOM_FRAMES),
      close: () => context.close(),
    }
  }
}

/** Runs in the page. Zooms in and out again with each frame; returns the milliseconds between frames. */
async function zoomFrames(count) {
  const rows = globalThis.document.querySelector('.rows')
  const times = []
  for (let index = 0; index <= count; index++) {
    times.push(await new Promise(resolve => globalThis.requestAnimationFrame(resolve)))
    const deltaY = index % 60 < 30 ? -40 : 40
    rows.dispatchEvent(new globalThis.WheelEvent('wheel', { deltaY, ctrlKey: true, bubbles: true, cancelable: true }))
  }
  return times.slice(1).map((time, index) => time - times[index])
}
