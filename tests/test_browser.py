"""The report in a real browser: it sorts, searches, shows plots, and is readable everywhere."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from manykernels import MKLRegressor, report

pytest.importorskip("matplotlib")
pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync
--disable-dev-shm-usage"""
READ = 4.5
"""Least contrast of text, WCAG 2.1 AA."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = ["age", "income", "a_rather_long_name_of_a_column_without_any_spaces_in_it", "x<b>&"]
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=names)
    y = X["age"] * X["income"] - X["age"] + 0.5 * X[names[2]] * X["x<b>&"] + 0.3 * X["x<b>&"]
    model = MKLRegressor(degree=2, p=1, alpha=1e-2).fit(X, y.rename("price"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manykernels.report.subject.PLOTTED", 4)
        return report.write(model, X, y, tmp_path_factory.mktemp("browser") / "report.html")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def page(driver, file):
    """The page as it is when opened, on a wide and light screen."""
    resize(driver, 1280)
    emulate(driver)
    driver.get(file.as_uri())
    return driver


def resize(driver, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def emulate(driver, scheme="light", media=""):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def find(page, selector):
    return page.find_element(By.CSS_SELECTOR, selector)


def column(page, key):
    """Return the entries of a column in the order of the rows in sight."""
    script = (
        "return [...document.querySelectorAll('table.terms tbody tr')].filter(r => !r.hidden)"
        f".map(r => r.dataset.{key})"
    )
    return page.execute_script(script)


def shown(page):
    """Return what the viewer shows: headings of all plots in sight."""
    return [
        article.find_element(By.TAG_NAME, "h3").text
        for article in page.find_elements(By.CSS_SELECTOR, ".effect")
        if article.is_displayed()
    ]


def current(page):
    rows = page.find_elements(By.CSS_SELECTOR, "table.terms tr[aria-current=true]")
    return [row.get_attribute("data-term") for row in rows]


def focused(page):
    return page.switch_to.active_element


def press(page, *keys):
    for key in keys:
        focused(page).send_keys(key)


def test_loads_from_disk_without_errors_or_requests(driver, file):
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(file.as_uri())
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        # Those of the page: a browser that has just begun may still load one of its own.
        and event["params"]["documentURL"] == file.as_uri()
    ]
    assert file.as_uri() in asked
    assert all(url == file.as_uri() or url.startswith("data:") for url in asked)
    assert driver.execute_script("return document.querySelectorAll('script').length") == 1
    assert len(shown(driver)) == 1


def test_a_script_that_is_not_ours_does_not_run(page):
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        "document.body.append(s);"
    )
    assert page.execute_script("return window.hit") is None
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))


@pytest.mark.parametrize("key", ["term", "variables", "spread", "second", "sign"])
def test_sorts_by_each_column_both_ways(page, key):
    head = find(page, f"th.{key}")
    button = head.find_element(By.TAG_NAME, "button")
    others = page.find_elements(By.CSS_SELECTOR, f"table.terms thead th:not(.{key})")
    orders = []
    for act in (button.click, button.click, lambda: button.send_keys(Keys.ENTER)):
        act()
        orders.append(head.get_attribute("aria-sort"))
        values = column(page, key)
        values = values if key == "term" else [float(value) for value in values]
        assert values == sorted(values, reverse=orders[-1] == "descending")
        assert {other.get_attribute("aria-sort") for other in others} == {"none"}
    assert set(orders[:2]) == {"ascending", "descending"}
    assert orders[2] == orders[0]


def test_search_leaves_matching_rows_and_says_how_many(page):
    everything = column(page, "term")
    status = find(page, "#matches")
    assert status.text == f"{len(everything)} terms"
    assert status.get_attribute("role") == "status"
    search = find(page, "#search")
    assert find(page, "label[for=search]").text == "Search terms"
    search.send_keys("AGE inc")
    assert column(page, "term") == [t for t in everything if "age" in t and "inc" in t]
    assert status.text == f"1 of {len(everything)} terms matches"
    search.clear()
    search.send_keys("nothing like it")
    assert column(page, "term") == []
    assert status.text == f"0 of {len(everything)} terms match"
    assert not find(page, "#next").is_enabled()
    search.clear()
    search.send_keys(Keys.SPACE)
    assert column(page, "term") == everything


def test_a_click_on_a_term_shows_its_plot(page):
    names = column(page, "term")
    assert shown(page) == current(page) == names[:1]
    buttons = page.find_elements(By.CSS_SELECTOR, "button.show")
    assert len(buttons) == 4
    assert find(page, "#effects").get_attribute("aria-live") == "polite"
    seen = set()
    for button in buttons[::-1]:
        button.click()
        assert shown(page) == current(page) == [button.text]
        article = page.find_element(By.ID, button.get_attribute("aria-controls"))
        picture = article.find_element(By.TAG_NAME, "svg")
        assert picture.is_displayed()
        assert button.text in picture.get_attribute("aria-label")
        seen.add(picture.get_attribute("innerHTML"))
    assert len(seen) == 4
    assert not find(page, "#previous").is_enabled()
    find(page, "#next").click()
    assert shown(page) == current(page) == [buttons[1].text]
    assert find(page, "#position").text == "2 of 4 plots"
    find(page, "#previous").click()
    assert shown(page) == [buttons[0].text]


def test_the_keyboard_does_all_that_the_mouse_does(page):
    names = [b.text for b in page.find_elements(By.CSS_SELECTOR, "button.show")]
    find(page, "#search").click()
    for _ in range(20):
        press(page, Keys.TAB)
        if focused(page).get_attribute("class") == "show":
            break
    assert focused(page).text == names[0]
    outline = focused(page).value_of_css_property("outline-style")
    assert outline == "solid"
    press(page, Keys.TAB, Keys.ENTER)
    assert shown(page) == current(page) == [names[1]]
    press(page, Keys.ARROW_DOWN)
    assert focused(page).text == names[2]
    assert shown(page) == current(page) == [names[2]]
    press(page, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
    assert shown(page) == [names[0]]
    find(page, "#next").send_keys(Keys.ARROW_RIGHT)
    assert shown(page) == [names[1]]
    find(page, "#next").send_keys(Keys.ENTER)
    assert shown(page) == [names[2]]
    find(page, "#previous").send_keys(Keys.ARROW_LEFT)
    assert shown(page) == [names[1]]


def test_prev_and_next_follow_the_order_of_the_table(page):
    find(page, "th.term button").click()
    plotted = [b.text for b in page.find_elements(By.CSS_SELECTOR, "button.show")]
    page.find_elements(By.CSS_SELECTOR, "button.show")[0].click()
    for name in plotted[1:]:
        find(page, "#next").click()
        assert shown(page) == [name]


CONTRASTS = """
const parse = (text) => {
  const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
  return [r, g, b, a];
};
const light = ([r, g, b]) => {
  const line = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return 0.2126 * line(r) + 0.7152 * line(g) + 0.0722 * line(b);
};
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let text = walker.nextNode(); text; text = walker.nextNode()) {
  const node = text.parentElement;
  if (!text.data.trim() || !node.checkVisibility() || node.closest("script, :disabled")) continue;
  const style = getComputedStyle(node);
  const inside = node.closest("svg");
  // Numbers in the coloured cells of a matrix have colours of their own.
  if (inside && style.fill !== getComputedStyle(inside).fill) continue;
  const pair = [light(parse(inside ? style.fill : style.color)), light(ground(node))].sort();
  pair.sort((a, b) => b - a);
  found.push([(pair[0] + 0.05) / (pair[1] + 0.05), text.data.trim().slice(0, 40)]);
}
return found;
"""


def background(page):
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_light_and_dark_follow_the_system_and_the_button(page):
    light = background(page)
    assert len(page.execute_script(CONTRASTS)) > 100
    assert min(page.execute_script(CONTRASTS)) >= [READ]
    emulate(page, "dark")
    dark = background(page)
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 150
    assert sum(map(int, re.findall(r"\d+", light)[:3])) > 700
    assert min(page.execute_script(CONTRASTS)) >= [READ]
    button = find(page, "#theme")
    # The page hears of the change in an event of its own.
    WebDriverWait(page, 10).until(lambda _: button.text == "Light")
    button.click()
    assert background(page) == light
    assert button.text == "Dark"
    button.click()
    assert background(page) == dark
    emulate(page, "light")
    assert background(page) == dark


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    resize(page, width)
    inner, outer = page.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert inner <= outer <= width
    if width == 375:
        sizes = page.execute_script(
            "return [...document.querySelectorAll('p, td, th, button, dt')]"
            ".filter(e => e.checkVisibility()).map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 13
        page.find_elements(By.CSS_SELECTOR, "button.show")[1].click()
        assert find(page, ".effect:not([hidden]) svg").is_displayed()


def test_a_phone_shows_all_columns_of_the_terms(page):
    resize(page, 390)
    inner, outer = page.execute_script(
        "const s = document.querySelector('#terms .scroll'); return [s.scrollWidth, s.clientWidth]"
    )
    assert inner == outer
    for key in ("term", "spread", "second", "sign"):
        assert find(page, f"th.{key} button").is_displayed()
    assert not find(page, "th.variables").is_displayed()
    # Where there is more than fits, an edge has a shade.
    shade = find(page, ".scroll").value_of_css_property("background-image")
    assert shade.count("linear-gradient") == 4


def test_on_paper_all_plots_are_there_and_no_buttons_to_press(page):
    find(page, "#theme").click()  # a dark screen does not make dark paper
    emulate(page, "light", "print")
    assert len(shown(page)) == 4
    for picture in page.find_elements(By.CSS_SELECTOR, ".figure svg"):
        assert picture.is_displayed()
        assert picture.size["width"] > 150
    assert background(page) == "rgb(255, 255, 255)"
    for name in ("theme", "search", "next", "previous", "copy"):
        assert not page.find_element(By.ID, name).is_displayed()
    scroll = find(page, ".scroll")
    assert scroll.value_of_css_property("overflow") == "visible"
    paper = page.execute_cdp_cmd("Page.printToPDF", {})
    assert len(paper["data"]) > 10_000
    emulate(page)


def test_settings_can_be_copied(page, file):
    find(page, "#copy").click()
    status = find(page, "#copied")
    words = page.execute_async_script(
        "const [node, done] = arguments; const look = () =>"
        "node.textContent ? done(node.textContent) : setTimeout(look, 20); look();",
        status,
    )
    assert words in {"Copied.", "Selected; press Ctrl+C to copy."}
    assert "MKLRegressor(" in find(page, "#settings code").text
