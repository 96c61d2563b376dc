package dev.sluice.examples;

import dev.sluice.Limit;
import dev.sluice.Limits;
import jakarta.servlet.Filter;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;
import org.springframework.web.servlet.support.AbstractAnnotationConfigDispatcherServletInitializer;

/** docs/recipes/spring-mvc.md: where the filter goes. Found by any servlet container. */
public final class WebApplication extends AbstractAnnotationConfigDispatcherServletInitializer {
  @Override
  protected Filter[] getServletFilters() {
    Limits throttle = Limits.create();
    throttle.set("caller:*", Limit.perMinute(1, 3)); // 3 at once, then one a minute, per caller
    return new Filter[] {new RateLimitFilter(throttle)};
  }

  @Override
  protected Class<?>[] getRootConfigClasses() {
    return new Class<?>[0];
  }

  @Override
  protected Class<?>[] getServletConfigClasses() {
    return new Class<?>[] {Greeting.class};
  }

  @Override
  protected String[] getServletMappings() {
    return new String[] {"/"};
  }

  /** The protected resource. */
  @RestController
  @EnableWebMvc
  public static class Greeting {
    @GetMapping("/greeting")
    public String greeting() {
      return "hello";
    }
  }
}
