"""A broad crawl with Scrapy: crawl.py CONCURRENCY SEEDS. It stores no pages."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Broad(scrapy.Spider):
    """Follows all links of all pages, except links with nofollow."""

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
    # No separate limit per host: all requests in flight may be to one host.
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[1]),
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    # Settings that Scrapy's documentation recommends for broad crawls, and disabled features.
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
