"""A broad crawl by Scrapy: crawl.py CONCURRENCY SEEDS. Keeps nothing but what it must to go on."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Broad(scrapy.Spider):
    """Follows every link of every page, but those that say nofollow."""

    name = "broad"
    extractor = LinkExtractor()

    async def start(self):
        with open(sys.argv[2], encoding="utf-8") as seeds:
            for line in seeds:
                yield scrapy.Request(line.strip())

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            if not link.nofollow:
                yield scrapy.Request(link.url)


SETTINGS = {
    "CONCURRENT_REQUESTS": int(sys.argv[1]),
    # No bound of its own for a host: it may have all of them there.
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[1]),
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    # What Scrapy's own page about broad crawls advises, and what it does without.
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "LOG_LEVEL": "ERROR",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
}

if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Broad)
    process.start()
